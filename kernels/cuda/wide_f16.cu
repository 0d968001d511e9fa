#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> WideKernelsF16() {
  return KernelsOf<ElementKind::kF16, InstanceKind::kWide>();
}

}  // namespace paged
