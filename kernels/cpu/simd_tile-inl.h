// Some rows against the tokens of one tile: scores, weights, weighted values.
//
// A register tile holds kTileSums running sums: T tokens x R rows of scores, or
// R rows x X vectors of values. Scores of a tile lie as their register tiles
// do, [tile of T tokens][row][token], from the sums to the weights: maxima and
// sums are kept per lane of that pattern, and folded to rows when a maximum
// grows and at the end, so that no score costs a horizontal operation.
#if defined(PAGED_KERNELS_CPU_SIMD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_scratch.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// Half of the registers of AVX-512, Neon and SVE, half of those of the others.
inline constexpr int kTileSums = kLanes == 16 ? 16 : 8;
inline constexpr int kSumVectors = kTileSums / kLanes;
inline constexpr int64_t kLineBytes = 64;

// Tokens of a register tile of R rows.
template <int R>
inline constexpr int kTileOf = kTileSums / R;

// One tile of one kv head: rows of its tokens, and of those to fetch meanwhile.
// Past `num_tokens` the last token is repeated.
template <typename Kv>
struct TokenRows {
  int num_tokens;
  const Kv* const* rows;  // [kTileTokens]
  int64_t head_offset;    // elements from a token's row to the head's
  const Kv* const* next;  // [kTileTokens], or null
  int64_t next_offset;    // of the head to fetch
  int dim;
};

template <typename Kv>
HWY_INLINE void FetchRow(const TokenRows<Kv>& tokens, int token) {
  const Kv* row = tokens.next[token] + tokens.next_offset;
  const int64_t bytes = tokens.dim * static_cast<int64_t>(sizeof(Kv));
  const char* from = reinterpret_cast<const char*>(row);
  for (int64_t at = 0; at < bytes; at += kLineBytes) FetchLine(from + at);
}

template <int R, typename Kv>
HWY_INLINE void AddProducts(Floats* sums, const Kv* const* keys,
                            const float* query, int query_stride, int d,
                            int count) {
  constexpr int T = kTileOf<R>;
  Floats q[R];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) q[r] = LoadFloats(query + r * query_stride + d);
  HWY_UNROLL(16)
  for (int t = 0; t < T; ++t) {
    const Floats key = count == kLanes ? LoadFloats(keys[t] + d)
                                       : LoadSome(keys[t] + d, count);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      sums[r * T + t] = hn::MulAdd(key, q[r], sums[r * T + t]);
    }
  }
}

// scores[tile][row][token] = (query . key) * scale_log2; minus infinity past
// the tile's tokens.
template <int R, typename Kv>
HWY_INLINE void ScoreTile(const TokenRows<Kv>& tokens, const float* query,
                          int query_stride, float scale_log2, float* scores) {
  const FloatTag d;
  constexpr int T = kTileOf<R>;
  const Floats scale = hn::Set(d, scale_log2);
  for (int first = 0; first < tokens.num_tokens; first += T) {
    const Kv* keys[T];
    for (int t = 0; t < T; ++t) {
      keys[t] = tokens.rows[first + t] + tokens.head_offset;
      if (tokens.next != nullptr) FetchRow(tokens, first + t);
    }
    Floats sums[kTileSums];
    HWY_UNROLL(16)
    for (int i = 0; i < kTileSums; ++i) sums[i] = hn::Zero(d);
    int at = 0;
    for (; at + kLanes <= tokens.dim; at += kLanes) {
      AddProducts<R>(sums, keys, query, query_stride, at, kLanes);
    }
    if (at < tokens.dim) {
      AddProducts<R>(sums, keys, query, query_stride, at, tokens.dim - at);
    }
    float* to = scores + first * R;
    for (int v = 0; v < kSumVectors; ++v) {
      StoreFloats(hn::Mul(SumsOf(sums + v * kLanes), scale), to + v * kLanes);
    }
    for (int t = tokens.num_tokens - first; t < T; ++t) {
      for (int r = 0; r < R; ++r) {
        to[r * T + t] = -std::numeric_limits<float>::infinity();
      }
    }
  }
}

// Raises the rows' maxima to those of `tile_max`, and rescales what was summed
// up relative to the old ones.
template <int R>
HWY_NOINLINE void RaiseMaxima(const float* tile_max, float* max, float* sum,
                              float* values, int value_stride) {
  const FloatTag d;
  constexpr int T = kTileOf<R>;
  for (int r = 0; r < R; ++r) {
    float row_max = max[r * T];
    for (int t = 0; t < T; ++t) {
      row_max = std::fmax(row_max, tile_max[r * T + t]);
    }
    if (!(row_max > max[r * T])) continue;
    const float keep = WeightOf(max[r * T], row_max);
    for (int t = 0; t < T; ++t) {
      max[r * T + t] = row_max;
      sum[r * T + t] *= keep;
    }
    float* row = values + r * value_stride;
    for (int i = 0; i < value_stride; i += kLanes) {
      StoreFloats(hn::Mul(LoadFloats(row + i), hn::Set(d, keep)), row + i);
    }
  }
}

// Turns scores into weights, in place, and takes them into `max` and `sum`.
template <int R>
HWY_INLINE void PushTile(int num_tokens, float* scores, float* max, float* sum,
                         float* values, int value_stride) {
  const FloatTag d;
  const Floats minus_inf = hn::Set(d, -std::numeric_limits<float>::infinity());
  const int end = (num_tokens + kTileOf<R> - 1) / kTileOf<R> * kTileSums;
  HWY_ALIGN float tile_max[kTileSums];
  bool grows = false;
  for (int v = 0; v < kTileSums; v += kLanes) {
    Floats best = minus_inf;
    for (int i = v; i < end; i += kTileSums) {
      const Floats score = LoadFloats(scores + i);
      // NaN has no part in the maximum: its weight is NaN, and so the sum.
      best =
          hn::Max(best, hn::IfThenElse(hn::Eq(score, score), score, minus_inf));
    }
    StoreFloats(best, tile_max + v);
    grows |= !hn::AllFalse(d, hn::Gt(best, LoadFloats(max + v)));
  }
  if (grows) RaiseMaxima<R>(tile_max, max, sum, values, value_stride);
  for (int v = 0; v < kTileSums; v += kLanes) {
    const Floats row_max = LoadFloats(max + v);
    // An empty maximum counts as 0, as in WeightOf.
    const Floats base =
        hn::IfThenElse(hn::Eq(row_max, minus_inf), hn::Zero(d), row_max);
    Floats total = LoadFloats(sum + v);
    for (int i = v; i < end; i += kTileSums) {
      const Floats weight = Exp2(hn::Sub(LoadFloats(scores + i), base));
      total = hn::Add(total, weight);
      StoreFloats(weight, scores + i);
    }
    StoreFloats(total, sum + v);
  }
}

// Adds weight * value to X vectors of R rows, from dimension `at` on; of the
// last vector only `count` dimensions exist.
template <int R, int X, typename Kv>
HWY_INLINE void AddValues(const TokenRows<Kv>& tokens, const float* weights,
                          int at, int count, float* values, int value_stride) {
  const FloatTag d;
  constexpr int T = kTileOf<R>;
  Floats sums[R * X];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int x = 0; x < X; ++x) {
      sums[r * X + x] = LoadFloats(values + r * value_stride + at + x * kLanes);
    }
  }
  for (int token = 0; token < tokens.num_tokens; ++token) {
    const Kv* row = tokens.rows[token] + tokens.head_offset + at;
    const float* weight = weights + token / T * kTileSums + token % T;
    if (at == 0 && tokens.next != nullptr) FetchRow(tokens, token);
    Floats value[X];
    HWY_UNROLL(8)
    for (int x = 0; x < X; ++x) {
      value[x] = count == kLanes ? LoadFloats(row + x * kLanes)
                                 : LoadSome(row + x * kLanes, count);
    }
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const Floats w = hn::Set(d, weight[r * T]);
      HWY_UNROLL(8)
      for (int x = 0; x < X; ++x) {
        sums[r * X + x] = hn::MulAdd(w, value[x], sums[r * X + x]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int x = 0; x < X; ++x) {
      StoreFloats(sums[r * X + x], values + r * value_stride + at + x * kLanes);
    }
  }
}

template <int R, typename Kv>
HWY_INLINE void AddTileValues(const TokenRows<Kv>& tokens, const float* weights,
                              float* values, int value_stride) {
  constexpr int X = kTileOf<R> < 8 ? kTileOf<R> : 8;
  int at = 0;
  for (; at + X * kLanes <= tokens.dim; at += X * kLanes) {
    AddValues<R, X>(tokens, weights, at, kLanes, values, value_stride);
  }
  if constexpr (X > 4) {
    for (; at + 4 * kLanes <= tokens.dim; at += 4 * kLanes) {
      AddValues<R, 4>(tokens, weights, at, kLanes, values, value_stride);
    }
  }
  for (; at + kLanes <= tokens.dim; at += kLanes) {
    AddValues<R, 1>(tokens, weights, at, kLanes, values, value_stride);
  }
  if (at < tokens.dim) {
    AddValues<R, 1>(tokens, weights, at, tokens.dim - at, values, value_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_TILE_INL_H_
