// CUDA's errors as statuses. Empty in a build without CUDA.
#ifndef PAGED_APPS_CUDA_ERROR_H_
#define PAGED_APPS_CUDA_ERROR_H_

#ifdef PAGED_HAS_CUDA
#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paged {

// ResourceExhausted for lack of memory, Internal for the rest; `doing` says
// what failed. Takes the error from CUDA's state, so that it does not stick.
inline absl::Status FromCuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  const auto message = absl::StrCat(doing, ": ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation
             ? absl::ResourceExhaustedError(message)
             : absl::InternalError(message);
}

}  // namespace paged
#endif

#endif  // PAGED_APPS_CUDA_ERROR_H_
