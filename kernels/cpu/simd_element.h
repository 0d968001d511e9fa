// The kernels of each storage type for the target that Highway has chosen; null
// for the target without vectors. One file each, which is compiled once per
// target.
#ifndef PAGED_KERNELS_CPU_SIMD_ELEMENT_H_
#define PAGED_KERNELS_CPU_SIMD_ELEMENT_H_

#include "kernels/cpu/simd_kernels.h"

namespace paged {

const SimdElementKernels* SimdF16();
const SimdElementKernels* SimdBF16();
const SimdElementKernels* SimdF32();
const SimdElementKernels* SimdE4M3();
const SimdElementKernels* SimdE5M2();
const SimdElementKernels* SimdInt8();

// Whatever target Highway has chosen, since it has none for these: null unless
// the processor has AVX-512 with dot products of bf16 and of 16-bit integers
// (and the build can).
const SimdElementKernels* SimdDotBF16();
const SimdElementKernels* SimdDotInt8();

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_SIMD_ELEMENT_H_
