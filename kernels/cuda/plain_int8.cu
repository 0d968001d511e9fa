#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> PlainKernelsInt8() {
  return KernelsOf<ElementKind::kInt8, InstanceKind::kPlain>();
}

}  // namespace paged
