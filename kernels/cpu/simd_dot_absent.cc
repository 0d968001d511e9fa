// A build whose compiler or processor family has no dot products of bf16.
#include "kernels/cpu/simd_element.h"

namespace paged {

const SimdElementKernels* SimdDotBF16() { return nullptr; }

}  // namespace paged
