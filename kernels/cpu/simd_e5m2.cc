// The vector kernels of one storage type, for every target.
#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_e5m2.cc"
#define PAGED_SIMD_ELEMENT Fp8E5M2
#define PAGED_SIMD_FUNCTION SimdE5M2
#include "kernels/cpu/simd_frame-inl.h"
