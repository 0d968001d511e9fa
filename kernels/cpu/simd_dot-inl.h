// Scores by dot products of pairs: a vector of 32 keys' elements times one of
// the query's, where products of floats take two of 16 and two conversions.
//
// Products of bf16 are exact in float, so that scores are as exact as those of
// floats; but subnormal keys and queries (below 2^-126) count as zero. Weights
// stay floats, times values that are converted: rounded to bf16 they would be
// off by 2^-9, and as the sum of two bf16 cost what floats cost.
//
// A vector holds a segment of the queries of kRowsOf<R> rows, side by side, and
// meets the same segment of a key, repeated: its sums are then of as many rows,
// and few additions across lanes are left. Rows of five and more are two such
// vectors.
#if defined(PAGED_KERNELS_CPU_SIMD_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_DOT_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_DOT_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_DOT_INL_H_
#endif

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_scratch.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/simd_turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

static_assert(kTileSums == 16 && kLanes == 16);

// Elements of 16 bits in a vector: those of a cache line.
inline constexpr int kPairDims = 32;

// Rows of a vector of queries, of R rows; and such vectors of a segment.
template <int R>
inline constexpr int kRowsOf = R <= 2 ? R : 4;
template <int R>
inline constexpr int kQueryVectors = R <= 4 ? 1 : 2;

// Dimensions of a segment.
template <int R>
inline constexpr int kSegmentDims = kPairDims / kRowsOf<R>;

// Tokens whose scores are summed up at once, and those of them whose keys are
// read side by side: in cache, group 1 is 4 % faster with 4 than with 8, group
// 4 as much with 8.
template <int R>
inline constexpr int kDotTokens = kTileSums / kQueryVectors<R>;
template <int R>
inline constexpr int kDotTogether = R <= 2 ? 4 : 8;

// The first `count` elements of a segment, zeros after them; the segment as
// often as a vector holds it.
template <int R>
HWY_INLINE __m512i LoadSegment(const BFloat16* from, int count) {
  if constexpr (kRowsOf<R> == 1) {
    const auto mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
    return _mm512_maskz_loadu_epi16(mask, from);
  } else if constexpr (kRowsOf<R> == 2) {
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    return _mm512_broadcast_i64x4(_mm256_maskz_loadu_epi16(mask, from));
  } else {
    const auto mask = static_cast<__mmask8>((1u << count) - 1);
    return _mm512_broadcast_i32x4(_mm_maskz_loadu_epi16(mask, from));
  }
}

template <int R>
HWY_INLINE __m512i LoadSegment(const BFloat16* from) {
  if constexpr (kRowsOf<R> == 1) {
    return _mm512_loadu_si512(from);
  } else if constexpr (kRowsOf<R> == 2) {
    return _mm512_broadcast_i64x4(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  } else {
    return _mm512_broadcast_i32x4(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
}

// Adds the products of kDotTogether tokens' segments, which are at `d`.
template <int R>
HWY_INLINE void AddSegments(const BFloat16* const* keys, int d, int count,
                            const __m512i* query, Floats* sums) {
  __m512bh q[kQueryVectors<R>];
  HWY_UNROLL(2)
  for (int v = 0; v < kQueryVectors<R>; ++v) {
    q[v] = __builtin_bit_cast(__m512bh, _mm512_load_si512(query + v));
  }
  HWY_UNROLL(8)
  for (int t = 0; t < kDotTogether<R>; ++t) {
    const auto key =
        __builtin_bit_cast(__m512bh, count == kSegmentDims<R>
                                         ? LoadSegment<R>(keys[t] + d)
                                         : LoadSegment<R>(keys[t] + d, count));
    HWY_UNROLL(2)
    for (int v = 0; v < kQueryVectors<R>; ++v) {
      Floats& sum = sums[v * kDotTokens<R> + t];
      sum = Floats{_mm512_dpbf16_ps(sum.raw, key, q[v])};
    }
  }
}

// Adds the products of kDotTogether tokens from `first` on, in all dimensions.
template <int R>
HWY_INLINE void AddDots(const TokenRows<BFloat16>& tokens, int first,
                        const __m512i* query, Floats* sums) {
  constexpr int kSegment = kSegmentDims<R>;
  const BFloat16* keys[kDotTogether<R>];
  HWY_UNROLL(8)
  for (int t = 0; t < kDotTogether<R>; ++t) {
    keys[t] = tokens.rows[first + t] + tokens.head_offset;
  }
  int d = 0;
  for (; d + kPairDims <= tokens.dim; d += kPairDims) {
    FetchParts<kDotTogether<R>, kPairDims>(tokens, first, d);
    HWY_UNROLL(4)
    for (int part = 0; part < kPairDims; part += kSegment) {
      AddSegments<R>(keys, d + part, kSegment, query, sums);
      query += kQueryVectors<R>;
    }
  }
  if (d < tokens.dim) FetchParts<kDotTogether<R>, kPairDims>(tokens, first, d);
  for (; d < tokens.dim; d += kSegment, query += kQueryVectors<R>) {
    AddSegments<R>(keys, d, std::min(kSegment, tokens.dim - d), query, sums);
  }
}

// The scores of kDotTokens tokens from their sums, in the order of register
// tiles (simd_tile-inl.h), which is `to`.
template <int R>
HWY_INLINE void StoreDots(const Floats* sums, float scale_log2, float* to) {
  const Floats scale = hn::Set(FloatTag(), scale_log2);
  if constexpr (R == 1) {
    StoreFloats(hn::Mul(SumsOf(sums), scale), to);
    return;
  }
  // Within 128-bit blocks, of which a row of the vector has four, or two.
  Floats quads[4];
  for (int i = 0; i < 4; ++i) quads[i] = SumsOfFour(sums + 4 * i);
  Floats tiles[4];
  if constexpr (R == 2) {
    // [tokens 0..3 of row 0, as two blocks; of row 1], [tokens 4..7].
    for (int i = 0; i < 2; ++i) {
      const __m512 a = quads[2 * i].raw;
      const __m512 b = quads[2 * i + 1].raw;
      const __m512 sum = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88),
                                       _mm512_shuffle_f32x4(a, b, 0xdd));
      tiles[i] = Floats{_mm512_shuffle_f32x4(sum, sum, 0xd8)};
    }
  } else if constexpr (R <= 4) {
    for (int i = 0; i < 4; ++i) tiles[i] = quads[i];
  } else {
    // Four tokens of four rows, and of the other four: two of each are a tile.
    const __m512i low = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i high = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    for (int i = 0; i < 2; ++i) {
      const __m512d a = _mm512_castps_pd(quads[i].raw);
      const __m512d b = _mm512_castps_pd(quads[2 + i].raw);
      tiles[2 * i] =
          Floats{_mm512_castpd_ps(_mm512_permutex2var_pd(a, low, b))};
      tiles[2 * i + 1] =
          Floats{_mm512_castpd_ps(_mm512_permutex2var_pd(a, high, b))};
    }
  }
  for (int i = 0; i < kDotTokens<R> / kTileOf<R>; ++i) {
    StoreFloats(hn::Mul(tiles[i], scale), to + i * kTileSums);
  }
}

template <>
struct KeyMath<BFloat16> {
  static constexpr bool kIsPacked = true;

  // [segment][vector of rows][row][dimension]; zeros past the rows.
  template <int R>
  static void Pack(SimdScratch& scratch, int head, int first_row) {
    constexpr int kPiece = 8;
    auto* packed =
        static_cast<uint16_t*>(scratch.packed_queries(head, first_row));
    for (int r = 0; r < kRowsOf<R> * kQueryVectors<R>; ++r) {
      auto* to = packed + r / kRowsOf<R> * kPairDims +
                 r % kRowsOf<R> * kSegmentDims<R>;
      for (int d = 0; d < scratch.query_stride(); d += kPiece) {
        const __m256 from =
            r < R ? _mm256_loadu_ps(scratch.query(head, first_row + r) + d)
                  : _mm256_setzero_ps();
        _mm_storeu_si128(
            reinterpret_cast<__m128i*>(
                to + d / kSegmentDims<R> * kQueryVectors<R> * kPairDims +
                d % kSegmentDims<R>),
            __builtin_bit_cast(__m128i, _mm256_cvtneps_pbh(from)));
      }
    }
  }

  template <int R>
  static HWY_INLINE void ScoreStep(const TokenRows<BFloat16>& tokens,
                                   SimdScratch& scratch, int head,
                                   int first_row, float scale_log2,
                                   float* scores) {
    const auto* query =
        static_cast<const __m512i*>(scratch.packed_queries(head, first_row));
    for (int first = 0; first < tokens.num_tokens; first += kDotTokens<R>) {
      Floats sums[kTileSums];
      HWY_UNROLL(16)
      for (int i = 0; i < kTileSums; ++i) sums[i] = hn::Zero(FloatTag());
      HWY_UNROLL(4)
      for (int t = 0; t < kDotTokens<R>; t += kDotTogether<R>) {
        AddDots<R>(tokens, first + t, query, sums + t);
      }
      StoreDots<R>(sums, scale_log2, scores + ScoreIndex<R>(0, first));
    }
    HideTokens<R>(tokens.num_tokens, scores);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_DOT_INL_H_
