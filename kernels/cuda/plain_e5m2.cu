#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> PlainKernelsE5M2() {
  return KernelsOf<ElementKind::kE5M2, InstanceKind::kPlain>();
}

}  // namespace paged
