#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> PlainKernelsF16() {
  return KernelsOf<ElementKind::kF16, InstanceKind::kPlain>();
}

}  // namespace paged
