// Dot products of pairs of 16 bits, of storage types that have them: a vector
// of 32 dimensions of keys times one of queries.
#if defined(PAGED_KERNELS_CPU_SIMD_DOT_ELEMENTS_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_DOT_ELEMENTS_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_DOT_ELEMENTS_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_DOT_ELEMENTS_INL_H_
#endif

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/core/dtype.h"
#include "kernels/cpu/simd_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using Ints = hn::Vec<IntTag>;

// The `count` lowest bits.
HWY_INLINE uint32_t FirstBits(int count) {
  return static_cast<uint32_t>((uint64_t{1} << count) - 1);
}

// Of keys stored as Kv.
template <typename Kv>
struct DotMath;

// Products of bf16 are exact in float. Subnormal elements count as zero.
template <>
struct DotMath<BFloat16> {
  using SumTag = FloatTag;

  // `count` elements of the 32 / kRows from `from` on, zeros after them; all of
  // that kRows times.
  template <int kRows>
  static HWY_INLINE __m512i Load(const BFloat16* from, int count) {
    if (count == 32 / kRows) return LoadAll<kRows>(from);
    const uint32_t bits = FirstBits(count);
    if constexpr (kRows == 1) {
      return _mm512_maskz_loadu_epi16(bits, from);
    } else if constexpr (kRows == 2) {
      return _mm512_broadcast_i64x4(
          _mm256_maskz_loadu_epi16(static_cast<__mmask16>(bits), from));
    } else {
      return _mm512_broadcast_i32x4(
          _mm_maskz_loadu_epi16(static_cast<__mmask8>(bits), from));
    }
  }

  static HWY_INLINE Floats Add(__m512i key, __m512i query, Floats sum) {
    return Floats{_mm512_dpbf16_ps(sum.raw, __builtin_bit_cast(__m512bh, key),
                                   __builtin_bit_cast(__m512bh, query))};
  }
  static HWY_INLINE Floats ToFloats(Floats sums) { return sums; }

  // What a query is multiplied by before Narrow; whether that is ever not 1.
  static constexpr bool kHasFactors = false;
  static HWY_INLINE float FactorOf(const float* /*query*/, int /*dim*/) {
    return 1.0f;
  }
  static HWY_INLINE __m128i Narrow(__m256 query) {
    return __builtin_bit_cast(__m128i, _mm256_cvtneps_pbh(query));
  }

 private:
  template <int kRows>
  static HWY_INLINE __m512i LoadAll(const BFloat16* from) {
    if constexpr (kRows == 1) {
      return _mm512_loadu_si512(from);
    } else if constexpr (kRows == 2) {
      return _mm512_broadcast_i64x4(
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    } else {
      return _mm512_broadcast_i32x4(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
  }
};

// Codes times queries of 16 bits, whose row is scaled to fill them: they are
// off by 2^-16 of the row's largest magnitude at most, and products and sums
// are exact.
template <>
struct DotMath<Int8> {
  using SumTag = IntTag;

  template <int kRows>
  static HWY_INLINE __m512i Load(const Int8* from, int count) {
    const bool is_whole = count == 32 / kRows;
    const uint32_t bits = FirstBits(count);
    if constexpr (kRows == 1) {
      return _mm512_cvtepi8_epi16(
          is_whole ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
                   : _mm256_maskz_loadu_epi8(bits, from));
    } else if constexpr (kRows == 2) {
      return _mm512_cvtepi8_epi16(_mm256_broadcastsi128_si256(
          is_whole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                   : _mm_maskz_loadu_epi8(static_cast<__mmask16>(bits), from)));
    } else {
      return _mm512_cvtepi8_epi16(_mm256_broadcastq_epi64(
          is_whole ? _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))
                   : _mm_maskz_loadu_epi8(static_cast<__mmask16>(bits), from)));
    }
  }

  static HWY_INLINE Ints Add(__m512i key, __m512i query, Ints sum) {
    return Ints{_mm512_dpwssd_epi32(sum.raw, key, query)};
  }
  static HWY_INLINE Floats ToFloats(Ints sums) {
    return hn::ConvertTo(FloatTag(), sums);
  }

  static constexpr bool kHasFactors = true;
  // NaN for a row with NaN or infinity, 0 for one of zeros.
  static float FactorOf(const float* query, int dim) {
    // The sum of `dim` products has 31 bits.
    const int largest = std::min(32767, (1 << 24) / dim);
    Floats most = hn::Zero(FloatTag());
    Floats poison = most;
    for (int d = 0; d < dim; d += kLanes) {
      const Floats magnitude = hn::Abs(LoadFloats(query + d));
      most = hn::Max(most, magnitude);
      poison = hn::MulAdd(magnitude, hn::Zero(FloatTag()), poison);
    }
    const float amax = hn::GetLane(hn::MaxOfLanes(FloatTag(), most));
    const float nan_or_zero = hn::GetLane(hn::SumOfLanes(FloatTag(), poison));
    if (amax == 0.0f && nan_or_zero == 0.0f) return 0.0f;
    // Less than that has no quotient, and makes scores of next to nothing.
    return static_cast<float>(largest) / std::max(amax, 0x1p-110f) +
           nan_or_zero;
  }
  static HWY_INLINE __m128i Narrow(__m256 query) {
    return _mm256_cvtsepi32_epi16(_mm256_cvtps_epi32(query));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_DOT_ELEMENTS_INL_H_
