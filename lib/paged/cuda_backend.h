// The backend of NVIDIA GPUs, sm_80 and up.
//
// Example:
//
//     absl::StatusOr<std::unique_ptr<paged::Backend>> backend =
//         paged::MakeCudaBackend();
//     if (!backend.ok()) {
//       // Unimplemented: built without CUDA. Unavailable: no GPU here.
//       backend = paged::MakeCpuBackend();
//     }
//     CHECK_GE((*backend)->profile().num_units, 1);
#ifndef PAGED_LIB_PAGED_CUDA_BACKEND_H_
#define PAGED_LIB_PAGED_CUDA_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "paged/backend.h"

namespace paged {

struct CudaOptions {
  int device = 0;
};

// Unimplemented when this build has no CUDA, Unavailable when the machine has
// no usable GPU of that index. Leaves the current device as it was. The profile
// is the file's that PAGED_PROFILE names (`paged calibrate`), where it is set:
// NotFound, InvalidArgument or, for another device's, FailedPrecondition.
absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(
    const CudaOptions& options = {});

}  // namespace paged

#endif  // PAGED_LIB_PAGED_CUDA_BACKEND_H_
