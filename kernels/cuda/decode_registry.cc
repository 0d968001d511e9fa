#include <algorithm>
#include <vector>

#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> DecodeKernels() {
  static const std::vector<DecodeKernel> all = [] {
    std::vector<DecodeKernel> kernels;
    for (auto part : {DecodeKernelsF16(), DecodeKernelsBF16()}) {
      kernels.insert(kernels.end(), part.begin(), part.end());
    }
    return kernels;
  }();
  return all;
}

const DecodeKernel* FindDecodeKernel(ElementKind element, int head_dim,
                                     InstanceShape shape) {
  const auto kernels = DecodeKernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const DecodeKernel& kernel) {
                                    return kernel.config.element == element &&
                                           kernel.config.head_dim == head_dim &&
                                           kernel.config.shape == shape;
                                  });
  return found == kernels.end() ? nullptr : &*found;
}

cudaError_t PrepareDecodeKernel(const DecodeKernel& kernel) {
  for (const void* function : kernel.functions) {
    const cudaError_t error = cudaFuncSetAttribute(
        function, cudaFuncAttributeMaxDynamicSharedMemorySize,
        kernel.config.shared_bytes());
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace paged
