// What every backend checks, and reports, in the same words.
#ifndef PAGED_LIB_PAGED_INTERNAL_RUN_CHECKS_H_
#define PAGED_LIB_PAGED_INTERNAL_RUN_CHECKS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "kernels/baseline/thrust_decode.h"
#include "kernels/core/table_check.h"
#include "paged/backend.h"
#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged::internal {

// FailedPrecondition for a plan of another device.
absl::Status CheckPlanDevice(const DecodePlan& plan,
                             const DeviceProfile& profile);

// InvalidArgument names the field. `alignment` in bytes.
absl::Status CheckAligned(const char* field, const void* pointer,
                          std::size_t alignment);

// ResourceExhausted for less than `needed` bytes, InvalidArgument for memory
// that is not aligned as a workspace is.
absl::Status CheckMemory(const char* field, std::size_t needed,
                         const void* data, std::size_t bytes, DeviceKind kind);

// ResourceExhausted for less than the plan needs, InvalidArgument for a
// workspace that is not aligned.
absl::Status CheckWorkspace(const DecodePlan& plan, const Workspace& workspace,
                            DeviceKind kind);

// InvalidArgument names the first offender. `shape` has its defaults.
absl::Status ToStatus(const TableFault& fault, const DecodeShape& shape);

// Unimplemented, ResourceExhausted, FailedPrecondition or Internal.
absl::Status ToStatus(ThrustStatus status);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_RUN_CHECKS_H_
