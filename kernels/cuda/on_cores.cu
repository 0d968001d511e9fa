#include <vector>

#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> CoreKernels() {
  static const std::vector<DecodeKernel> all = [] {
    constexpr InstanceKind kKind = InstanceKind::kCudaCores;
    std::vector<DecodeKernel> kernels;
    for (auto part : {KernelsOf<ElementKind::kF16, kKind>(),
                      KernelsOf<ElementKind::kBF16, kKind>(),
                      KernelsOf<ElementKind::kF32, kKind>(),
                      KernelsOf<ElementKind::kE4M3, kKind>(),
                      KernelsOf<ElementKind::kE5M2, kKind>(),
                      KernelsOf<ElementKind::kInt8, kKind>()}) {
      kernels.insert(kernels.end(), part.begin(), part.end());
    }
    return kernels;
  }();
  return all;
}

}  // namespace paged
