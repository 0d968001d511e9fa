#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> WideKernelsBF16() {
  return KernelsOf<ElementKind::kBF16, InstanceKind::kWide>();
}

}  // namespace paged
