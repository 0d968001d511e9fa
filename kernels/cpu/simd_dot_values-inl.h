// Values of 8 bits by dot products of two tokens at a time, with weights of 16
// bits: those of a row in a step are scaled so that the largest fills them, and
// are off by 2^-16 of it at most. Products and their sums over a step are
// exact.
//
// Values of bf16 stay with floats: weights rounded to bf16 would be off by
// 2^-9, and as the sum of two bf16 cost what floats cost.
#if defined(PAGED_KERNELS_CPU_SIMD_DOT_VALUES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_DOT_VALUES_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_DOT_VALUES_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_DOT_VALUES_INL_H_
#endif

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/cpu/simd_dot_elements-inl.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/simd_turns-inl.h"
#include "kernels/cpu/simd_values-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// The largest of the lanes [k T, (k + 1) T), in each of them.
template <int T>
HWY_INLINE Ints MaxOfEach(Ints x) {
  const __m512i lanes =
      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  HWY_UNROLL(4)
  for (int distance = 1; distance < T; distance *= 2) {
    const __m512i others = _mm512_xor_si512(lanes, _mm512_set1_epi32(distance));
    x = hn::Max(x, Ints{_mm512_permutexvar_epi32(others, x.raw)});
  }
  return x;
}

template <>
struct ValueMath<Int8> {
  static constexpr int kTokens = 2;
  static constexpr int kSums = 2;
  static constexpr bool kIsExact = true;
  using Vector = __m512i;
  using Sum = Ints;
  using Weight = int16_t;

  // Leaves 16 bits a weight, and a row's unit of them in the lanes of the row
  // behind all tiles.
  template <int R>
  static HWY_INLINE void PackWeights(int num_tokens, float* weights) {
    constexpr int T = kTileOf<R>;
    const FloatTag d;
    const IntTag di;
    const int end = (num_tokens + T - 1) / T * kTileSums;
    // As bits, in whose order infinity and NaN are the largest. Less than this
    // has no quotient, and is lost but for scales as small.
    Ints bits = hn::BitCast(di, hn::Set(d, 0x1p-110f));
    for (int i = 0; i < end; i += kLanes) {
      bits = hn::Max(bits, hn::BitCast(di, hn::Abs(LoadFloats(weights + i))));
    }
    const Floats most = hn::BitCast(d, MaxOfEach<T>(bits));
    const Floats factor = hn::Div(hn::Set(d, kLargestWeight), most);
    auto* packed = reinterpret_cast<__m256i*>(weights);
    for (int i = 0; i < end; i += kLanes) {
      const Floats scaled = hn::Mul(LoadFloats(weights + i), factor);
      _mm256_store_si256(
          packed++, _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(scaled.raw)));
    }
    // NaN for infinity and NaN.
    const Floats poison = hn::Mul(most, hn::Zero(d));
    StoreFloats(hn::MulAdd(most, hn::Set(d, 1.0f / kLargestWeight), poison),
                weights + kUnits<R>);
  }
  static HWY_INLINE Vector WeightAt(const Weight* weight) {
    int32_t pair;
    std::memcpy(&pair, weight, sizeof(pair));
    return _mm512_set1_epi32(pair);
  }

  // Of 32 dimensions two vectors, of even and of odd ones. Past the tokens the
  // last of them has no weight.
  template <int X>
  static HWY_INLINE void Load(const TokenRows<Int8>& tokens, unsigned token,
                              int at, int count, Vector* value) {
    const uint32_t bits = FirstBits(count);
    const Int8* a = tokens.rows[token] + tokens.head_offset + at;
    const Int8* b = tokens.rows[token + 1] + tokens.head_offset + at;
    constexpr __mmask32 kOdd = 0xaaaaaaaa;
    HWY_UNROLL(4)
    for (int x = 0; x < X; x += 2) {
      const __m512i wide_a =
          _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(bits, a + x * kLanes));
      const __m512i wide_b =
          _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(bits, b + x * kLanes));
      value[x] =
          _mm512_mask_blend_epi16(kOdd, wide_a, _mm512_slli_epi32(wide_b, 16));
      value[x + 1] =
          _mm512_mask_blend_epi16(kOdd, _mm512_srli_epi32(wide_a, 16), wide_b);
    }
  }
  static HWY_INLINE Sum Add(Vector weight, Vector value, Sum sum) {
    return Ints{_mm512_dpwssd_epi32(sum.raw, weight, value)};
  }
  template <int X>
  static HWY_INLINE void Begin(Sum* sums) {
    HWY_UNROLL(16)
    for (int x = 0; x < X; ++x) sums[x] = hn::Zero(IntTag());
  }
  template <int R, int X>
  static HWY_INLINE void End(const Sum* sums, const float* weights, int i,
                             float* values) {
    const FloatTag d;
    const Floats unit = hn::Set(d, weights[kUnits<R> + i]);
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    HWY_UNROLL(4)
    for (int x = 0; x < X; x += 2) {
      for (int half = 0; half < 2; ++half) {
        float* to = values + (x + half) * kLanes;
        const Ints sum{_mm512_permutex2var_epi32(
            sums[x].raw, half == 0 ? first : second, sums[x + 1].raw)};
        StoreFloats(hn::MulAdd(hn::ConvertTo(d, sum), unit, LoadFloats(to)),
                    to);
      }
    }
  }

 private:
  static constexpr float kLargestWeight = 32767.0f;

  // Where units are: behind the weights of a step.
  template <int R>
  static constexpr int kUnits = kStepTokens / kTileOf<R>* kTileSums;
};

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_DOT_VALUES_INL_H_
