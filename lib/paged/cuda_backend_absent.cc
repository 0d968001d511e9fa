#include "absl/status/status.h"
#include "paged/cuda_backend.h"

namespace paged {

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const CudaOptions&) {
  return absl::UnimplementedError(
      "this build has no CUDA; configure with -DPAGED_CUDA=ON");
}

}  // namespace paged
