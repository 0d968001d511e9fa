// The tokens of an item come in spans with sums of their own, which are then
// added up. In float32 a sum of many terms, one after another, loses what the
// late ones have behind its last digit: of 65,536 tokens the scalar kernels'
// outputs were 5.8e-5 from float64, and are 7e-7 with spans of 1,024. A span
// costs a pass over the values of each row. The vector kernels sum up the
// tokens of a step on their own as well, and steps then, which costs nothing.
#ifndef PAGED_KERNELS_CPU_SPANS_H_
#define PAGED_KERNELS_CPU_SPANS_H_

#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"

namespace paged {

inline constexpr int kSpanTokens = 1024;
inline constexpr int kSpanTiles = kSpanTokens / kTileTokens;

// Whether a span of the item ends in front of its tile `tile_idx`, which is not
// the first.
inline bool EndsSpan(const WorkItem& item, int tile_idx) {
  return (tile_idx - item.first_tile) / item.tile_step % kSpanTiles == 0;
}

// Whether a span of the item ends at all, be it with the item.
inline bool HasSpanEnd(const WorkItem& item) {
  return (item.last_tile - 1 - item.first_tile) / item.tile_step + 1 >=
         kSpanTiles;
}

// Adds the state of a row's span to that of the spans before it, whose maximum
// is no larger. Returns what their values must be multiplied by.
inline float AddSpan(SoftmaxState span, SoftmaxState& past) {
  const float keep = past.max_log2 == span.max_log2
                         ? 1.0f
                         : WeightOf(past.max_log2, span.max_log2);
  past = {span.max_log2, past.sum * keep + span.sum};
  return keep;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_SPANS_H_
