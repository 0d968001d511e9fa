// The rows of a head in chunks, and what becomes of their sums when a span of
// tokens ends (spans.h).
#if defined(PAGED_KERNELS_CPU_SIMD_SPANS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_SPANS_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_SPANS_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_SPANS_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/core/online_softmax.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_scratch.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/spans.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

template <int R>
void FoldChunk(int head, int first_row, SimdScratch& scratch) {
  constexpr int T = kTileOf<R>;
  const float* max = scratch.lanes(head, first_row);
  const float* sum = max + kMaxSimdLanes;
  const float* lost = sum + kMaxSimdLanes;
  for (int r = 0; r < R; ++r) {
    double total = 0.0;
    for (int t = 0; t < T; ++t) {
      total += double{sum[r * T + t]} + double{lost[r * T + t]};
    }
    scratch.state(head, first_row + r) = {max[r * T],
                                          static_cast<float>(total)};
  }
}

template <int R>
using RowCount = std::integral_constant<int, R>;

// Calls `with(RowCount<R>())` for the next chunk of rows, R of those left, and
// returns R. Every R has code of its own, so that a group of any size is one
// read of its keys and values, without rows that are not there.
template <int R = kMaxChunkRows, typename With>
HWY_INLINE int WithChunkRows(int num_rows_left, const With& with) {
  if constexpr (R > 1) {
    if (num_rows_left < R) return WithChunkRows<R - 1>(num_rows_left, with);
  }
  with(RowCount<R>());
  return R;
}

// Lanes of a head into its states.
inline void FoldLanes(int head, SimdScratch& scratch) {
  for (int row = 0; row < scratch.num_rows();) {
    row += WithChunkRows(scratch.num_rows() - row, [&]<int R>(RowCount<R>) {
      FoldChunk<R>(head, row, scratch);
    });
  }
}

// Adds the sums of a head's span to those of the spans before it, and begins
// the next one, whose maxima are no smaller.
inline void EndSpan(int head, SimdScratch& scratch) {
  const FloatTag d;
  FoldLanes(head, scratch);
  for (int row = 0; row < scratch.num_rows(); ++row) {
    const Floats keep = hn::Set(
        d, AddSpan(scratch.state(head, row), scratch.past_state(head, row)));
    float* values = scratch.values(head, row);
    float* past = scratch.past_values(head, row);
    for (int i = 0; i < scratch.value_stride(); i += kLanes) {
      StoreFloats(
          hn::MulAdd(LoadFloats(past + i), keep, LoadFloats(values + i)),
          past + i);
      StoreFloats(hn::Zero(d), values + i);
    }
    std::fill_n(scratch.lanes(head, row) + kMaxSimdLanes, 2 * kMaxSimdLanes,
                0.0f);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_SPANS_INL_H_
