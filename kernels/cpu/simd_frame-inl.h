// What the file of a storage type is made of: its vector kernels for every
// target, and the choice among them at run time. The file defines
//
//   PAGED_SIMD_ELEMENT   the storage type
//   PAGED_SIMD_FUNCTION  the function of simd_element.h that it is
//   HWY_TARGET_INCLUDE   its own name
//
// and includes this and nothing else. No include guard: Highway includes the
// file, and so this, once per target.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#if HWY_TARGET != HWY_SCALAR
#include "kernels/cpu/simd_attend-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// Each file has its own.
static const SimdElementKernels* KernelsOfTarget() {
#if HWY_TARGET == HWY_SCALAR
  return nullptr;
#else
  return ElementKernels<PAGED_SIMD_ELEMENT>();
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paged {

HWY_EXPORT(KernelsOfTarget);

const SimdElementKernels* PAGED_SIMD_FUNCTION() {
  return HWY_DYNAMIC_DISPATCH(KernelsOfTarget)();
}

}  // namespace paged
#endif  // HWY_ONCE
