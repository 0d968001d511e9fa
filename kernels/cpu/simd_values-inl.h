// The weights of a step times its values: a register tile is R rows x X vectors
// of sums (simd_tile-inl.h).
#if defined(PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/simd_turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// How weights and values are multiplied: kTokens tokens at once, and kSums
// vectors of their values. A target may have another, as for KeyMath.
template <typename Kv>
struct ValueMath {
  static constexpr int kTokens = 1;
  static constexpr int kSums = 1;
  // Whether sums of a step are not rounded.
  static constexpr bool kIsExact = false;
  using Vector = Floats;
  using Sum = Floats;

  // Weights in the form that WeightAt takes, in place.
  using Weight = float;
  template <int R>
  static HWY_INLINE void PackWeights(int /*num_tokens*/, float* /*weights*/) {}
  static HWY_INLINE Vector WeightAt(const Weight* weight) {
    return hn::Set(FloatTag(), *weight);
  }
  // X vectors from dimension `at` on; of the last kSums only `count` dimensions
  // exist.
  template <int X>
  static HWY_INLINE void Load(const TokenRows<Kv>& tokens, unsigned token,
                              int at, int count, Vector* value) {
    const Kv* row = tokens.rows[token] + tokens.head_offset + at;
    HWY_UNROLL(8)
    for (int x = 0; x < X; ++x) {
      value[x] = count == kLanes ? LoadFloats(row + x * kLanes)
                                 : LoadSome(row + x * kLanes, count);
    }
  }
  static HWY_INLINE Sum Add(Vector weight, Vector value, Sum sum) {
    return hn::MulAdd(weight, value, sum);
  }
  template <int X>
  static HWY_INLINE void Begin(Sum* sums) {
    HWY_UNROLL(16)
    for (int x = 0; x < X; ++x) sums[x] = hn::Zero(FloatTag());
  }
  // Adds a step's sums to those before. `i` is the place of the row's first
  // weight.
  template <int R, int X>
  static HWY_INLINE void End(const Sum* sums, const float* /*weights*/,
                             int /*i*/, float* values) {
    HWY_UNROLL(8)
    for (int x = 0; x < X; ++x) {
      float* to = values + x * kLanes;
      StoreFloats(hn::Add(LoadFloats(to), sums[x]), to);
    }
  }
};

// The sums of weight * value of the tokens [first, end), in X vectors of R
// rows, from dimension `at` on; of the last only `count` dimensions exist.
template <int R, int X, typename Kv>
HWY_INLINE void SumValues(const TokenRows<Kv>& tokens,
                          const typename ValueMath<Kv>::Weight* weights,
                          unsigned first, unsigned end, int at, int count,
                          typename ValueMath<Kv>::Sum* sums) {
  using Math = ValueMath<Kv>;
  constexpr int T = kTileOf<R>;
  Math::template Begin<R * X>(sums);
  for (unsigned token = first; token < end; token += Math::kTokens) {
    const typename Math::Weight* weight =
        weights + token / T * kTileSums + token % T;
    FetchParts<Math::kTokens, X * kLanes>(tokens, static_cast<int>(token), at);
    typename Math::Vector value[X];
    Math::template Load<X>(tokens, token, at, count, value);
    HWY_UNROLL(8)
    for (int r = 0; r < R; ++r) {
      const typename Math::Vector w = Math::WeightAt(weight + r * T);
      HWY_UNROLL(8)
      for (int x = 0; x < X; ++x) {
        sums[r * X + x] = Math::Add(w, value[x], sums[r * X + x]);
      }
    }
  }
}

// Tokens whose values are summed up one after another, in R rows x X vectors.
// Each addition rounds the sum of all before it, so that two sums of half a
// step's tokens are nearer (511 tokens of a group of 3: 1.15e-7 from float64 in
// place of 1.33e-7). Where registers do not hold both, they cost 1.5 % of the
// time.
template <int R, int X, typename Kv>
inline constexpr unsigned kChain =
    !ValueMath<Kv>::kIsExact && (2 * R + 1) * X < kRegisters ? kStepTokens / 2
                                                             : kStepTokens;

// Adds the sums of a step to `values`.
template <int R, int X, typename Kv>
HWY_INLINE void AddValues(const TokenRows<Kv>& tokens, const float* weights,
                          int at, int count, float* values, int value_stride) {
  using Math = ValueMath<Kv>;
  constexpr unsigned kTokens = kChain<R, X, Kv>;
  const auto* packed = reinterpret_cast<const typename Math::Weight*>(weights);
  const unsigned num_tokens = static_cast<unsigned>(tokens.num_tokens);
  typename Math::Sum sums[R * X];
  if constexpr (kTokens == kStepTokens) {
    SumValues<R, X>(tokens, packed, 0, num_tokens, at, count, sums);
  } else {
    Math::template Begin<R * X>(sums);
    for (unsigned first = 0; first < num_tokens; first += kTokens) {
      typename Math::Sum part[R * X];
      SumValues<R, X>(tokens, packed, first,
                      std::min(first + kTokens, num_tokens), at, count, part);
      HWY_UNROLL(16)
      for (int i = 0; i < R * X; ++i) sums[i] = hn::Add(sums[i], part[i]);
    }
  }
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    Math::template End<R, X>(sums + r * X, weights, r * kTileOf<R>,
                             values + r * value_stride + at);
  }
}

template <int R, typename Kv>
HWY_INLINE void AddStepValues(const TokenRows<Kv>& tokens, const float* weights,
                              float* values, int value_stride) {
  constexpr int X = kTileOf<R> < 8 ? kTileOf<R> : 8;
  constexpr int kSums = ValueMath<Kv>::kSums;
  constexpr int kDims = kSums * kLanes;
  int at = 0;
  for (; at + X * kLanes <= tokens.dim; at += X * kLanes) {
    AddValues<R, X>(tokens, weights, at, kDims, values, value_stride);
  }
  if constexpr (X > 4) {
    for (; at + 4 * kLanes <= tokens.dim; at += 4 * kLanes) {
      AddValues<R, 4>(tokens, weights, at, kDims, values, value_stride);
    }
  }
  for (; at + kDims <= tokens.dim; at += kDims) {
    AddValues<R, kSums>(tokens, weights, at, kDims, values, value_stride);
  }
  if (at < tokens.dim) {
    AddValues<R, kSums>(tokens, weights, at, tokens.dim - at, values,
                        value_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
