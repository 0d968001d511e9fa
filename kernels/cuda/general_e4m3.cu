#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> GeneralKernelsE4M3() {
  return KernelsOf<ElementKind::kE4M3, InstanceKind::kGeneral>();
}

}  // namespace paged
