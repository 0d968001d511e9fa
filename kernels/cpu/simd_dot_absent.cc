// A build whose compiler or processor family has no dot products.
#include "kernels/cpu/simd_element.h"

namespace paged {

const SimdElementKernels* SimdDotBF16() { return nullptr; }
const SimdElementKernels* SimdDotInt8() { return nullptr; }

}  // namespace paged
