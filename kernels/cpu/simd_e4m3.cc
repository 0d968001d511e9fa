// The vector kernels of one storage type, for every target.
#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_e4m3.cc"
#define PAGED_SIMD_ELEMENT Fp8E4M3
#define PAGED_SIMD_FUNCTION SimdE4M3
#include "kernels/cpu/simd_frame-inl.h"
