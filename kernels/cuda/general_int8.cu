#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

std::span<const DecodeKernel> GeneralKernelsInt8() {
  return KernelsOf<ElementKind::kInt8, InstanceKind::kGeneral>();
}

}  // namespace paged
