// The device loop that every decode kernel runs.
//
// Grid    blockIdx.x = item * num_kv_heads + kv_head: neighbours read
//         neighbouring heads of the same tokens; blockIdx.y = split.
// CTA     the rows of the item against the tiles of the item.
// Warp    every kWarps-th tile, streamed through a ring of its own; all rows.
// Lane    a fragment: rows lane / 4 and lane / 4 + 8, columns by lane % 4.
// Shared  kWarps * kStages * (16 tokens * head_dim * 2 bytes * 2), and 16 rows
//         of Q; after the loop the bytes of the rings hold each warp's
//         accumulator for the merge.
//
// Invariant of the loop: for each row, `max` is the largest score of the
// warp's tiles so far, `sum` and `values` are the sums of exp2(score - max)
// and of the same times V. The maximum never falls, so the weights that go to
// the tensor cores in 16 bits never exceed 1.
#ifndef PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_
#define PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/kv_ring.cuh"
#include "kernels/cuda/lane_rules.cuh"
#include "kernels/cuda/query_tile.cuh"
#include "kernels/cuda/tile_math.cuh"
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

// What instances without rules have in place of LaneRules.
struct NoRules {
  __device__ NoRules(const DecodeParams&, const WorkItem&, int) {}
};

__device__ __forceinline__ void Scale(const float (&scales)[2],
                                      Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] *= scales[j / 2];
  }
}

// By the scales [kTileTokens] of the keys of a tile.
__device__ __forceinline__ void ScaleByToken(uint32_t scales, Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const float2 pair =
        LoadSharedFloats(scales + (n * 8 + threadIdx.x % 4 * 2) * 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] *= j % 2 == 0 ? pair.x : pair.y;
  }
}

__device__ __forceinline__ void AddExponents(const TokenScales& scales,
                                             Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] += scales.exponents[n][j % 2];
  }
}

// Tokens from `live` on are not there.
__device__ __forceinline__ void MaskTail(int live, Scores& scores) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (n * 8 + lane % 4 * 2 + j % 2 >= live) scores[n][j] = -INFINITY;
    }
  }
}

// Raises the maxima to those of the tile, and rescales what was accumulated
// where they grew: after a few tiles they seldom do.
template <int kColumns>
__device__ __forceinline__ void RaiseMax(const Scores& scores, RowPair& rows,
                                         float (&values)[kColumns][4]) {
  float tile_max[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float x = fmaxf(fmaxf(scores[0][half * 2], scores[0][half * 2 + 1]),
                    fmaxf(scores[1][half * 2], scores[1][half * 2 + 1]));
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
    tile_max[half] = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
  }
  if (!__any_sync(kAllLanes,
                  tile_max[0] > rows.max[0] || tile_max[1] > rows.max[1])) {
    return;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float max = fmaxf(rows.max[half], tile_max[half]);
    const float safe_max = max == -INFINITY ? 0.0f : max;
    const float keep = Exp2(rows.max[half] - safe_max);
    rows.max[half] = max;
    rows.safe_max[half] = safe_max;
    rows.sum[half] *= keep;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      values[i][half * 2] *= keep;
      values[i][half * 2 + 1] *= keep;
    }
  }
}

// Turns scores into weights, as the A fragment of the product with V.
template <typename Element>
__device__ __forceinline__ void Weigh(const Scores& scores, RowPair& rows,
                                      uint32_t (&weights)[4]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float low = Exp2(scores[n][half * 2] - rows.safe_max[half]);
      const float high = Exp2(scores[n][half * 2 + 1] - rows.safe_max[half]);
      rows.sum[half] += low + high;
      weights[n * 2 + half] = Element::Pack(low, high);
    }
  }
}

// The same of scores that the exponents of the values' scales have joined.
template <typename Element>
__device__ __forceinline__ void WeighScaled(const Scores& scores,
                                            const TokenScales& scales,
                                            RowPair& rows,
                                            uint32_t (&weights)[4]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float pair[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float weight =
            Exp2(scores[n][half * 2 + j] - rows.safe_max[half]);
        rows.sum[half] += weight * Exp2(-scales.exponents[n][j]);
        pair[j] = copysignf(weight, scales.values[n][j]);
      }
      weights[n * 2 + half] = Element::Pack(pair[0], pair[1]);
    }
  }
}

// What one lane's two rows have of a query: their scale, base 2.
template <IsDecodeInstance V>
__device__ __forceinline__ void LoadScales(const DecodeParams& p, int kv_head,
                                           const char* shared_query,
                                           float (&scales)[2]) {
  const float scale = p.scale_log2 * HeadScale(p.key_scales, kv_head);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    scales[half] = scale;
    if constexpr (V::kHasByteElements) {
      const int lane = static_cast<int>(threadIdx.x) % 32;
      scales[half] *= reinterpret_cast<const float*>(
          shared_query + V::Query::kTileBytes)[lane / 4 + half * 8];
    }
  }
}

// Attends the item's rows to its tiles, and hands each row's result, four
// dimensions at a time, to `emit(row, dim, state, float4 values)`: values are
// unnormalised, relative to the state's maximum. All threads of the CTA call.
template <IsDecodeInstance V, typename Emit>
__device__ __forceinline__ void AttendRange(const DecodeParams& p,
                                            const WorkItem& item, int kv_head,
                                            char* shared, Emit emit) {
  using Math = TileMath<V>;
  char* shared_query = shared + V::kWorkBytes;
  if constexpr (!V::kHasByteElements) {
    IssueQuery<V>(p, item, kv_head, SharedAddress(shared_query));
  }
  KvRing<V> ring(p, item, kv_head, shared);
  ring.Fill();
  if constexpr (V::kHasByteElements) {
    ConvertQuery<V>(p, item, kv_head, shared_query);
  } else {
    // The query was asked for before the length and the table were known, so it
    // is here before the first tile.
    WaitForCopies<V::kStages - 1>();
  }
  __syncthreads();
  QueryFragments<V> query;
  query.Load(SharedAddress(shared_query));
  float row_scales[2];
  LoadScales<V>(p, kv_head, shared_query, row_scales);
  using Rules = std::conditional_t<V::kIsGeneral, LaneRules, NoRules>;
  const Rules rules(p, item, kv_head);

  RowPair rows;
  float values[V::kValueDim / 8][4] = {};
  while (ring.HasTile()) {
    ring.IssueNext();
    const typename KvRing<V>::Tile kv = ring.Wait();
    Scores scores = {};
    Math::Score(query, kv.keys, p.key_dim, scores);
    uint32_t weights[4];
    if constexpr (!V::kIsGeneral) {
      Scale(row_scales, scores);
      const int live = item.context_len - kv.index * kTileTokens;
      if (live < kTileTokens) MaskTail(live, scores);
      RaiseMax(scores, rows, values);
      Weigh<typename Math::Element>(scores, rows, weights);
    } else {
      Scale(row_scales, scores);
      if (V::kHasByteElements && AreByToken(p.key_scales)) {
        ScaleByToken(kv.scales, scores);
      }
      rules.Apply(kv.index, scores);
      if (V::kHasByteElements && AreByToken(p.value_scales)) {
        TokenScales scales;
        scales.Load(kv.scales + kTileTokens * 4);
        AddExponents(scales, scores);
        RaiseMax(scores, rows, values);
        WeighScaled<typename Math::Element>(scores, scales, rows, weights);
      } else {
        RaiseMax(scores, rows, values);
        Weigh<typename Math::Element>(scores, rows, weights);
      }
    }
    Math::AddValues(weights, kv.values, p.value_dim, values);
    ring.Release();
  }
  ring.Drain();

  SumOverLanes(rows);
  __syncthreads();  // every warp has left its ring
  MergeArea<V> area(shared);
  area.Store(item.num_rows, rows, values);
  __syncthreads();
  area.Merge(p, item.num_rows, emit);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_
