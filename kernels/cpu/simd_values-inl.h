// The weights of a step times its values: a register tile is R rows x X vectors
// of sums (simd_tile-inl.h).
#if defined(PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_VALUES_INL_H_
#endif

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
    HWY_UNROLL(8)
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

// Adds weight * value to X vectors of R rows, from dimension `at` on; of the
// last only `count` dimensions exist.
template <int R, int X, typename Kv>
HWY_INLINE void AddValues(const TokenRows<Kv>& tokens, const float* weights,
                          int at, int count, float* values, int value_stride) {
  using Math = ValueMath<Kv>;
  constexpr int T = kTileOf<R>;
  typename Math::Sum sums[R * X];
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) Math::template Begin<X>(sums + r * X);
  const auto* packed = reinterpret_cast<const typename Math::Weight*>(weights);
  const unsigned num_tokens = static_cast<unsigned>(tokens.num_tokens);
  for (unsigned token = 0; token < num_tokens; token += Math::kTokens) {
    const typename Math::Weight* weight =
        packed + token / T * kTileSums + token % T;
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
  HWY_UNROLL(8)
  for (int r = 0; r < R; ++r) {
    Math::template End<R, X>(sums + r * X, weights, r * T,
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
