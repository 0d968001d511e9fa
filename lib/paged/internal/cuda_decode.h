// What a plan launches, on the current device.
#ifndef PAGED_LIB_PAGED_INTERNAL_CUDA_DECODE_H_
#define PAGED_LIB_PAGED_INTERNAL_CUDA_DECODE_H_

#include "absl/status/status.h"
#include "paged/backend.h"
#include "paged/internal/lower.h"
#include "paged/plan.h"

namespace paged::internal {

// Unimplemented when this build has no such kernel. Neither is of a plan of
// thrust.
absl::Status CudaPrepareDecode(const DecodePlan& plan);

// Enqueues the schedule, where the launch makes its own, the decode kernel, and
// the reduction where it is a second pass.
absl::Status CudaLaunchDecode(const DecodePlan& plan, const Launch& launch,
                              Stream stream);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CUDA_DECODE_H_
