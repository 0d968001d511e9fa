#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> GeneralKernelsF16() {
  return KernelsOf<ElementKind::kF16, InstanceKind::kGeneral>();
}

}  // namespace paged
