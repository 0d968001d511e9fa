#include "benchmarks/plain_copy.h"

#include <cstring>

#if defined(PAGED_HAS_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace paged::benchmarks {

absl::Status PlainCopy(const Backend& backend, void* to, const void* from,
                       std::size_t bytes, [[maybe_unused]] Stream stream) {
#if defined(PAGED_HAS_CUDA)
  if (backend.profile().kind == DeviceKind::kCuda) {
    const cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
    if (error != cudaSuccess) {
      return absl::InternalError(cudaGetErrorString(error));
    }
    return absl::OkStatus();
  }
#endif
  if (backend.profile().kind == DeviceKind::kCuda) {
    return absl::UnimplementedError("this build has no CUDA");
  }
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

}  // namespace paged::benchmarks
