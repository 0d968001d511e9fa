// The vector kernels of one storage type, for every target.
#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_f32.cc"
#define PAGED_SIMD_ELEMENT float
#define PAGED_SIMD_FUNCTION SimdF32
#include "kernels/cpu/simd_frame-inl.h"
