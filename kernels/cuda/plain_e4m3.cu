#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> PlainKernelsE4M3() {
  return KernelsOf<ElementKind::kE4M3, InstanceKind::kPlain>();
}

}  // namespace paged
