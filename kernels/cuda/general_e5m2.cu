#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> GeneralKernelsE5M2() {
  return KernelsOf<ElementKind::kE5M2, InstanceKind::kGeneral>();
}

}  // namespace paged
