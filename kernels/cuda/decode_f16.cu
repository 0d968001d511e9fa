#include "kernels/cuda/decode_kernel.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

static_assert(kInstanceElements[0] == ElementKind::kF16);

std::span<const DecodeKernel> DecodeKernelsF16() {
  static const auto kernels =
      KernelsOf<0>(std::make_index_sequence<kInstancesPerElement>{});
  return kernels;
}

}  // namespace paged
