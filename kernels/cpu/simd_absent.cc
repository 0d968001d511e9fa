// A build without Highway has the scalar kernels alone.
#include "kernels/cpu/simd_kernels.h"

namespace paged {

const SimdKernels* FindSimdKernels(DotProducts) { return nullptr; }

const std::vector<SimdKernels>& AllSimdKernels() {
  static const auto* const none = new std::vector<SimdKernels>;
  return *none;
}

}  // namespace paged
