#include "kernels/cuda/decode_kernel.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

static_assert(kInstanceElements[1] == ElementKind::kBF16);

std::span<const DecodeKernel> DecodeKernelsBF16() {
  static const auto kernels =
      KernelsOf<1>(std::make_index_sequence<kInstancesPerElement>{});
  return kernels;
}

}  // namespace paged
