// The vector kernels of one storage type, for every target.
#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_bf16.cc"
#define PAGED_SIMD_ELEMENT BFloat16
#define PAGED_SIMD_FUNCTION SimdBF16
#include "kernels/cpu/simd_frame-inl.h"
