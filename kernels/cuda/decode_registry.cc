#include <algorithm>
#include <vector>

#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> DecodeKernels() {
  static const std::vector<DecodeKernel> all = [] {
    std::vector<DecodeKernel> kernels;
    kernels.reserve(kInstances.size());
    for (auto part :
         {PlainKernelsF16(), PlainKernelsBF16(), PlainKernelsE4M3(),
          PlainKernelsE5M2(), PlainKernelsInt8(), GeneralKernelsF16(),
          GeneralKernelsBF16(), GeneralKernelsE4M3(), GeneralKernelsE5M2(),
          GeneralKernelsInt8(), WideKernelsF16(), WideKernelsBF16(),
          CoreKernels()}) {
      kernels.insert(kernels.end(), part.begin(), part.end());
    }
    return kernels;
  }();
  return all;
}

const DecodeKernel* FindDecodeKernel(const InstanceConfig& config) {
  const auto kernels = DecodeKernels();
  const auto found = std::find_if(
      kernels.begin(), kernels.end(),
      [&](const DecodeKernel& kernel) { return kernel.config == config; });
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
