// Scores by dot products of pairs: a vector of 32 elements of a key times one
// of the query, where floats take two products of 16 and two conversions.
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

#include "hwy/highway.h"
#include "kernels/cpu/simd_dot_elements-inl.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_scratch.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/simd_turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

static_assert(kTileSums == 16 && kLanes == 16);

// Elements of 16 bits in a vector.
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

template <typename Kv>
using DotSum = hn::Vec<typename DotMath<Kv>::SumTag>;

// Adds the products of kDotTogether tokens' segments, which are at `d`.
template <int R, typename Kv>
HWY_INLINE void AddSegments(const Kv* const* keys, int d, int count,
                            const __m512i* query, DotSum<Kv>* sums) {
  __m512i q[kQueryVectors<R>];
  HWY_UNROLL(2)
  for (int v = 0; v < kQueryVectors<R>; ++v) {
    q[v] = _mm512_load_si512(query + v);
  }
  HWY_UNROLL(8)
  for (int t = 0; t < kDotTogether<R>; ++t) {
    const __m512i key =
        DotMath<Kv>::template Load<kRowsOf<R>>(keys[t] + d, count);
    HWY_UNROLL(2)
    for (int v = 0; v < kQueryVectors<R>; ++v) {
      DotSum<Kv>& sum = sums[v * kDotTokens<R> + t];
      sum = DotMath<Kv>::Add(key, q[v], sum);
    }
  }
}

// Adds the products of kDotTogether tokens from `first` on, in all dimensions.
template <int R, typename Kv>
HWY_INLINE void AddDots(const TokenRows<Kv>& tokens, int first,
                        const __m512i* query, DotSum<Kv>* sums) {
  constexpr int kSegment = kSegmentDims<R>;
  const Kv* keys[kDotTogether<R>];
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

// The scores of kDotTokens tokens from their sums, but for the scale, in the
// order of register tiles (simd_tile-inl.h). Returns how many tiles they are.
template <int R, class D>
HWY_INLINE int TilesOfDots(D d, const hn::Vec<D>* sums, hn::Vec<D>* tiles) {
  if constexpr (R == 1) {
    tiles[0] = SumsOf(d, sums);
    return 1;
  }
  // Within 128-bit blocks, of which a row of the vector has four, or two.
  hn::Vec<D> quads[4];
  for (int i = 0; i < 4; ++i) quads[i] = SumsOfFour(d, sums + 4 * i);
  if constexpr (R == 2) {
    // [tokens 0..3 of row 0, as two blocks; of row 1], [tokens 4..7].
    const hn::RebindToUnsigned<D> du;
    for (int i = 0; i < 2; ++i) {
      const __m512i a = hn::BitCast(du, quads[2 * i]).raw;
      const __m512i b = hn::BitCast(du, quads[2 * i + 1]).raw;
      const auto first =
          hn::Vec<decltype(du)>{_mm512_shuffle_i32x4(a, b, 0x88)};
      const auto other =
          hn::Vec<decltype(du)>{_mm512_shuffle_i32x4(a, b, 0xdd)};
      const auto sum = hn::BitCast(
          du, hn::Add(hn::BitCast(d, first), hn::BitCast(d, other)));
      tiles[i] = hn::BitCast(d, hn::Vec<decltype(du)>{_mm512_shuffle_i32x4(
                                    sum.raw, sum.raw, 0xd8)});
    }
    return 2;
  }
  if constexpr (R <= 4) {
    for (int i = 0; i < 4; ++i) tiles[i] = quads[i];
    return 4;
  }
  // Four tokens of four rows, and of the other four: two of each are a tile.
  const hn::Repartition<uint64_t, D> d64;
  for (int i = 0; i < 2; ++i) {
    const auto a = hn::BitCast(d64, quads[i]);
    const auto b = hn::BitCast(d64, quads[2 + i]);
    tiles[2 * i] = hn::BitCast(d, hn::ConcatEven(d64, b, a));
    tiles[2 * i + 1] = hn::BitCast(d, hn::ConcatOdd(d64, b, a));
  }
  return 4;
}

template <typename Kv>
requires(sizeof(DotMath<Kv>) > 0) struct KeyMath<Kv> {
  static constexpr bool kIsPacked = true;

  // [segment][vector of rows][row][dimension]; zeros past the rows. Behind
  // them, what scores are multiplied by: a vector as a register tile's.
  template <int R>
  static void Pack(SimdScratch& scratch, int head, int first_row) {
    constexpr int kPiece = 8;
    auto* packed =
        static_cast<uint16_t*>(scratch.packed_queries(head, first_row));
    float* scales = ScalesOf<R>(scratch, head, first_row);
    std::fill_n(scales, kTileSums, 0.0f);
    for (int r = 0; r < kRowsOf<R> * kQueryVectors<R>; ++r) {
      const float* query = scratch.query(head, first_row + std::min(r, R - 1));
      float factor = 0.0f;
      if (r < R) {
        factor = DotMath<Kv>::FactorOf(query, scratch.query_stride());
        std::fill_n(scales + r * kTileOf<R>, kTileOf<R>,
                    factor == 0.0f ? 0.0f : 1.0f / factor);
      }
      auto* to = packed + r / kRowsOf<R> * kPairDims +
                 r % kRowsOf<R> * kSegmentDims<R>;
      for (int d = 0; d < scratch.query_stride(); d += kPiece) {
        const __m256 piece =
            _mm256_mul_ps(_mm256_loadu_ps(query + d), _mm256_set1_ps(factor));
        _mm_storeu_si128(
            reinterpret_cast<__m128i*>(
                to + d / kSegmentDims<R> * kQueryVectors<R> * kPairDims +
                d % kSegmentDims<R>),
            DotMath<Kv>::Narrow(piece));
      }
    }
  }

  template <int R>
  static HWY_INLINE float ScoreStep(const TokenRows<Kv>& tokens,
                                    SimdScratch& scratch, int head,
                                    int first_row, float scale_log2,
                                    float* scores) {
    const typename DotMath<Kv>::SumTag d;
    const auto* query =
        static_cast<const __m512i*>(scratch.packed_queries(head, first_row));
    const Floats scale =
        hn::Mul(hn::Set(FloatTag(), scale_log2),
                LoadFloats(ScalesOf<R>(scratch, head, first_row)));
    constexpr bool kHasFactors = DotMath<Kv>::kHasFactors;
    for (int first = 0; first < tokens.num_tokens; first += kDotTokens<R>) {
      DotSum<Kv> sums[kTileSums];
      HWY_UNROLL(16)
      for (int i = 0; i < kTileSums; ++i) sums[i] = hn::Zero(d);
      HWY_UNROLL(4)
      for (int t = 0; t < kDotTokens<R>; t += kDotTogether<R>) {
        AddDots<R>(tokens, first + t, query, sums + t);
      }
      DotSum<Kv> tiles[4];
      const int num_tiles = TilesOfDots<R>(d, sums, tiles);
      float* to = scores + ScoreIndex<R>(0, first);
      for (int i = 0; i < num_tiles; ++i) {
        const Floats score = DotMath<Kv>::ToFloats(tiles[i]);
        StoreFloats(kHasFactors ? hn::Mul(score, scale) : score,
                    to + i * kTileSums);
      }
    }
    return kHasFactors ? 1.0f : scale_log2;
  }

 private:
  // Packed queries take no more than three quarters of their place, of at least
  // 128 bytes a row.
  template <int R>
  static HWY_INLINE float* ScalesOf(SimdScratch& scratch, int head,
                                    int first_row) {
    return static_cast<float*>(scratch.packed_queries(head, first_row)) +
           R * scratch.query_stride() - kTileSums;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_DOT_INL_H_
