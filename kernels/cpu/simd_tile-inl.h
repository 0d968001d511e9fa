// Some rows against the tokens of one tile: scores, and weights of them.
//
// A register tile holds up to kTileSums running sums: T tokens x R rows of
// scores, or R rows x X vectors of values. Scores of a tile lie as their
// register tiles do, [tile of T tokens][row][token], from the sums to the
// weights: maxima and sums are kept per lane of that pattern, and folded to
// rows when a maximum grows and at the end, so that no score costs a horizontal
// operation. T is a power of two, so that it divides the tile: where R is none,
// some lanes of the pattern stand for no row, and nothing looks at them.
#if defined(PAGED_KERNELS_CPU_SIMD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/large_score.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_scratch.h"
#include "kernels/cpu/simd_turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// Of AVX-512, and of SSE4 and AVX2; Neon, with more, is taken for one of these.
inline constexpr int kRegisters = kLanes == 16 ? 32 : 16;
inline constexpr int kTileSums = kRegisters / 2;
inline constexpr int kSumVectors = kTileSums / kLanes;

// Tokens of a register tile of R rows.
template <int R>
inline constexpr int kTileOf = kTileSums / (R <= 2   ? R
                                            : R <= 4 ? 4
                                                     : 8);

// Tokens of it whose keys are read side by side, a vector of each after the
// other: few, as memory is fastest in its own order.
template <int R>
inline constexpr int kTogether = kTileOf<R> < 4 ? kTileOf<R> : 4;

// Where the score or weight of a chunk's row and a token is.
template <int R>
HWY_INLINE int ScoreIndex(int row, int token) {
  constexpr int T = kTileOf<R>;
  return token / T * kTileSums + row * T + token % T;
}

// Gives the places of the last register tile that no token has a score without
// weight.
template <int R>
HWY_INLINE void HideTokens(int num_tokens, float* scores) {
  for (int t = num_tokens; t % kTileOf<R> != 0; ++t) {
    for (int r = 0; r < R; ++r) {
      scores[ScoreIndex<R>(r, t)] = -std::numeric_limits<float>::infinity();
    }
  }
}

// Adds the products of kTogether tokens, from `first` on, in the dimensions
// [d, d + count).
template <int R, typename Kv>
HWY_INLINE void AddProducts(const TokenRows<Kv>& tokens, int first,
                            const Kv* const* keys, const float* query,
                            int query_stride, int d, int count, Floats* sums) {
  constexpr int T = kTileOf<R>;
  FetchParts<kTogether<R>, kLanes>(tokens, first, d);
  Floats q[R];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) q[r] = LoadFloats(query + r * query_stride + d);
  HWY_UNROLL(4)
  for (int t = 0; t < kTogether<R>; ++t) {
    const Floats key = count == kLanes ? LoadFloats(keys[t] + d)
                                       : LoadSome(keys[t] + d, count);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      sums[r * T + t] = hn::MulAdd(key, q[r], sums[r * T + t]);
    }
  }
}

// The same in all dimensions.
template <int R, typename Kv>
HWY_INLINE void AddTokens(const TokenRows<Kv>& tokens, int first,
                          const float* query, int query_stride, Floats* sums) {
  const Kv* keys[kTogether<R>];
  HWY_UNROLL(4)
  for (int t = 0; t < kTogether<R>; ++t) {
    keys[t] = tokens.rows[first + t] + tokens.head_offset;
  }
  int d = 0;
  for (; d + kLanes <= tokens.dim; d += kLanes) {
    AddProducts<R>(tokens, first, keys, query, query_stride, d, kLanes, sums);
  }
  if (d < tokens.dim) {
    AddProducts<R>(tokens, first, keys, query, query_stride, d, tokens.dim - d,
                   sums);
  }
}

// scores[tile][row][token] = query . key
template <int R, typename Kv>
HWY_INLINE void ScoreTokens(const TokenRows<Kv>& tokens, const float* query,
                            int query_stride, float* scores) {
  const FloatTag d;
  constexpr int T = kTileOf<R>;
  for (int first = 0; first < tokens.num_tokens; first += T) {
    Floats sums[kTileSums];
    HWY_UNROLL(16)
    for (int i = 0; i < kTileSums; ++i) sums[i] = hn::Zero(d);
    HWY_UNROLL(4)
    for (int t = 0; t < T; t += kTogether<R>) {
      AddTokens<R>(tokens, first + t, query, query_stride, sums + t);
    }
    float* to = scores + first / T * kTileSums;
    for (int v = 0; v < kSumVectors; ++v) {
      StoreFloats(SumsOf(d, sums + v * kLanes), to + v * kLanes);
    }
  }
}

// How scores are made of keys. ScoreStep returns what they are still to be
// multiplied by. A target with instructions for it has another for some storage
// types (simd_dot-inl.h).
template <typename Kv>
struct KeyMath {
  static constexpr bool kIsPacked = false;

  template <int R>
  static HWY_INLINE float ScoreStep(const TokenRows<Kv>& tokens,
                                    SimdScratch& scratch, int head,
                                    int first_row, float scale_log2,
                                    float* scores) {
    ScoreTokens<R>(tokens, scratch.query(head, first_row),
                   scratch.query_stride(), scores);
    return scale_log2;
  }
};

// Raises the rows' maxima to those of `tile_max`, and rescales what was summed
// up relative to the old ones.
template <int R>
HWY_NOINLINE void RaiseMaxima(const float* tile_max, float* max, float* sum,
                              float* values, int value_stride) {
  const FloatTag d;
  constexpr int T = kTileOf<R>;
  float* lost = sum + kMaxSimdLanes;
  for (int r = 0; r < R; ++r) {
    float row_max = max[r * T];
    for (int t = 0; t < T; ++t) {
      row_max = std::max(row_max, tile_max[r * T + t]);
    }
    if (!(row_max > max[r * T])) continue;
    const float keep = WeightOf(max[r * T], row_max);
    for (int t = 0; t < T; ++t) {
      max[r * T + t] = row_max;
      sum[r * T + t] *= keep;
      lost[r * T + t] *= keep;
    }
    float* row = values + r * value_stride;
    for (int i = 0; i < value_stride; i += kLanes) {
      StoreFloats(hn::Mul(LoadFloats(row + i), hn::Set(d, keep)), row + i);
    }
  }
}

// Scales the scores of a chunk.
template <int R>
HWY_NOINLINE void ScaleScores(int num_tokens, float scale_log2, float* scores) {
  const Floats scale = hn::Set(FloatTag(), scale_log2);
  const int end = (num_tokens + kTileOf<R> - 1) / kTileOf<R> * kTileSums;
  for (int i = 0; i < end; i += kLanes) {
    StoreFloats(hn::Mul(LoadFloats(scores + i), scale), scores + i);
  }
}

// Turns scores, which are in base 2 times `scale_log2`, into weights, in place,
// and takes them into `max` and `sum`. As PushTile of attend_range.h: the
// product is rounded for the maximum, and not for the weight (without FMA, and
// of scores from kLargeScore on, it is there as well).
template <int R>
HWY_INLINE void PushStep(int num_tokens, float scale_log2, float* scores,
                         float* max, float* sum, float* values,
                         int value_stride) {
  const FloatTag d;
  Floats scale = hn::Set(d, scale_log2);
  const Floats minus_inf = hn::Set(d, -std::numeric_limits<float>::infinity());
  const int end = (num_tokens + kTileOf<R> - 1) / kTileOf<R> * kTileSums;
  HWY_ALIGN float tile_max[kTileSums];
  bool grows = false;
  bool has_large = false;
  for (int v = 0; v < kTileSums; v += kLanes) {
    Floats best = minus_inf;
    const auto is_row = hn::FirstN(
        d, static_cast<size_t>(std::clamp(R * kTileOf<R> - v, 0, kLanes)));
    for (int i = v; i < end; i += kTileSums) {
      const Floats score = hn::Mul(LoadFloats(scores + i), scale);
      // NaN has no part in the maximum: its weight is NaN, and so the sum.
      best = hn::Max(best, hn::IfThenElse(hn::And(hn::Eq(score, score), is_row),
                                          score, minus_inf));
    }
    StoreFloats(best, tile_max + v);
    grows |= !hn::AllFalse(d, hn::Gt(best, LoadFloats(max + v)));
    has_large |=
        !hn::AllFalse(d, hn::And(hn::Ge(hn::Abs(best), hn::Set(d, kLargeScore)),
                                 hn::Ne(best, minus_inf)));
  }
  if (has_large) {
    ScaleScores<R>(num_tokens, scale_log2, scores);
    scale = hn::Set(d, 1.0f);
  }
  if (grows) RaiseMaxima<R>(tile_max, max, sum, values, value_stride);
  for (int v = 0; v < kTileSums; v += kLanes) {
    const Floats row_max = LoadFloats(max + v);
    // An empty maximum counts as 0, as in WeightOf.
    const Floats base =
        hn::IfThenElse(hn::Eq(row_max, minus_inf), hn::Zero(d), row_max);
    Floats total = hn::Zero(d);
    for (int i = v; i < end; i += kTileSums) {
      const Floats weight =
          Exp2(hn::MulSub(LoadFloats(scores + i), scale, base));
      total = hn::Add(total, weight);
      StoreFloats(weight, scores + i);
    }
    const Floats old = LoadFloats(sum + v);
    const Floats both = hn::Add(old, total);
    // What the addition rounds away: exactly, unless the old sum is the
    // smaller.
    const Floats rest = hn::Sub(total, hn::Sub(both, old));
    float* lost = sum + kMaxSimdLanes + v;
    StoreFloats(both, sum + v);
    StoreFloats(hn::Add(LoadFloats(lost), rest), lost);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
