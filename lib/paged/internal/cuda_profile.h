// The profile of a GPU of this machine.
#ifndef PAGED_LIB_PAGED_INTERNAL_CUDA_PROFILE_H_
#define PAGED_LIB_PAGED_INTERNAL_CUDA_PROFILE_H_

#include "absl/status/statusor.h"
#include "paged/device_profile.h"

namespace paged::internal {

// Limits as CUDA reports them. Memory and launch figures are those of the
// measured profile of the same name, where there is one; else the H200's,
// scaled by nominal bandwidth, and marked estimated.
absl::StatusOr<DeviceProfile> QueryCudaProfile(int device);

// The profile that PAGED_PROFILE names in place of the device's own.
// FailedPrecondition when they are of different devices.
absl::StatusOr<DeviceProfile> ProfileOfEnvironment(const DeviceProfile& own);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CUDA_PROFILE_H_
