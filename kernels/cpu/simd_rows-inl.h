// Rows of storage types to floats and back, and powers of rows: what the vector
// kernels offer beside the loop.
#if defined(PAGED_KERNELS_CPU_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_ROWS_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_ROWS_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_ROWS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/core/dtype.h"
#include "kernels/cpu/simd_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

template <typename Element>
void LoadRow(const void* from, int dim, float* to) {
  const auto* elements = static_cast<const Element*>(from);
  int d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    StoreFloats(LoadFloats(elements + d), to + d);
  }
  for (; d < dim; ++d) to[d] = ToFloat(elements[d]);
}

template <typename Element>
void StoreRow(const float* from, float divisor, float factor, int dim,
              void* to) {
  auto* elements = static_cast<Element*>(to);
  const Floats sum = hn::Set(FloatTag(), divisor);
  const Floats scale = hn::Set(FloatTag(), factor);
  int d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    StoreFloats(hn::Mul(hn::Div(LoadFloats(from + d), sum), scale),
                elements + d);
  }
  for (; d < dim; ++d) {
    elements[d] = FromFloat<Element>(from[d] / divisor * factor);
  }
}

inline void Exp2Row(const float* scores, int count, float* weights) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    StoreFloats(Exp2(LoadFloats(scores + i)), weights + i);
  }
  if (i == count) return;
  HWY_ALIGN float lanes[kLanes];
  StoreFloats(Exp2(LoadSome(scores + i, count - i)), lanes);
  std::copy(lanes, lanes + (count - i), weights + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_ROWS_INL_H_
