// The vector kernels of one storage type, for every target.
#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_e5m2.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#if HWY_TARGET != HWY_SCALAR
#include "kernels/cpu/simd_attend-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

const SimdElementKernels* E5M2Kernels() {
#if HWY_TARGET == HWY_SCALAR
  return nullptr;
#else
  return ElementKernels<Fp8E5M2>();
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paged {

HWY_EXPORT(E5M2Kernels);

const SimdElementKernels* SimdE5M2() {
  return HWY_DYNAMIC_DISPATCH(E5M2Kernels)();
}

}  // namespace paged
#endif  // HWY_ONCE
