// The vector kernels by dot products of narrow elements: AVX-512 BF16 and VNNI,
// for which Highway 1.0.3 has no target. The loop is the one of all targets, in
// a namespace of its own and with those instructions allowed; what multiplies
// is in simd_dot*-inl.h.
#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"

// One target, and not by what the compiler's flags allow.
#ifndef HWY_COMPILE_ONLY_STATIC
#define HWY_COMPILE_ONLY_STATIC
#endif
#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX3
#include "hwy/highway.h"

namespace hwy {
namespace N_AVX3_DOT = N_AVX3;
}  // namespace hwy
#undef HWY_NAMESPACE
#define HWY_NAMESPACE N_AVX3_DOT
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512bf16,avx512vnni"

#include "kernels/cpu/simd_dot-inl.h"
#include "kernels/cpu/simd_dot_values-inl.h"
// Takes the above in place of what all targets have.
#include "kernels/cpu/simd_attend-inl.h"

namespace paged {
namespace {

bool ProcessorHasDots() {
  // The system, too: whether it keeps the wide registers.
  return __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace

const SimdElementKernels* SimdDotBF16() {
  return ProcessorHasDots() ? N_AVX3_DOT::ElementKernels<BFloat16>() : nullptr;
}

const SimdElementKernels* SimdDotInt8() {
  return ProcessorHasDots() ? N_AVX3_DOT::ElementKernels<Int8>() : nullptr;
}

}  // namespace paged
