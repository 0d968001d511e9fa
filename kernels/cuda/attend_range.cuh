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
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

// The item's rows of Q on their way to shared memory: [16, head_dim], swizzled
// like a tile; rows past num_rows become zeros. The CTA's threads share the
// copies out, and commit them as one group.
template <IsDecodeInstance V>
__device__ __forceinline__ void IssueQuery(const DecodeParams& p,
                                           const WorkItem& item, int kv_head,
                                           uint32_t shared) {
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x);
       i < kMaxRowsPerItem * V::kChunksPerRow; i += V::kThreads) {
    const int row = i / V::kChunksPerRow;
    const int chunk = i % V::kChunksPerRow;
    const bool is_row = row < item.num_rows;
    const RowPlace place =
        RowPlaceOf(p, kv_head, item.first_row + (is_row ? row : 0));
    const uint16_t* query =
        static_cast<const uint16_t*>(p.query.data) +
        OffsetOf(p.query, item.table_row, place.token, place.q_head) +
        chunk * 8;
    CopyAsync16OrZero(shared + SwizzledOffset<V>(row, chunk), query,
                      is_row ? 16 : 0);
  }
  CommitCopies();
}

// Q as A fragments, the same in every warp.
template <IsDecodeInstance V>
struct QueryFragments {
  uint32_t parts[V::kHeadDim / 16][4];

  __device__ __forceinline__ void Load(uint32_t shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t first = shared + SwizzledOffset<V>(lane % 16, lane / 16);
#pragma unroll
    for (int k = 0; k < V::kHeadDim / 16; ++k) {
      LoadMatrices(parts[k], first ^ (k * 32));
    }
  }
};

// Scores of 16 rows and 16 tokens, base 2; scores[n][j]: token n * 8 +
// lane % 4 * 2 + j % 2, row lane / 4 + j / 2 * 8.
template <IsDecodeInstance V>
__device__ __forceinline__ void Score(const QueryFragments<V>& query,
                                      uint32_t keys, float scale_log2,
                                      float (&scores)[2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t first =
      keys + SwizzledOffset<V>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  // Two chains of dependent products instead of one of twice the length: with
  // few warps on an SM their latency is what a tile costs (H200, 1 x 4096 on
  // one SM per kv head: 28.4 -> 26.3 us).
  float odd[2][4] = {};
#pragma unroll
  for (int k = 0; k < V::kHeadDim / 16; k += 2) {
    uint32_t m[4];
    LoadMatrices(m, first ^ (k * 32));
    V::Element::Multiply(scores[0], query.parts[k], m[0], m[1]);
    V::Element::Multiply(scores[1], query.parts[k], m[2], m[3]);
    LoadMatrices(m, first ^ (k * 32 + 32));
    V::Element::Multiply(odd[0], query.parts[k + 1], m[0], m[1]);
    V::Element::Multiply(odd[1], query.parts[k + 1], m[2], m[3]);
  }
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      scores[n][j] = (scores[n][j] + odd[n][j]) * scale_log2;
    }
  }
}

// Tokens from `live` on are not there.
__device__ __forceinline__ void MaskTail(int live, float (&scores)[2][4]) {
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
__device__ __forceinline__ void RaiseMax(const float (&scores)[2][4],
                                         RowPair& rows,
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
template <IsDecodeInstance V>
__device__ __forceinline__ void Weigh(const float (&scores)[2][4],
                                      RowPair& rows, uint32_t (&weights)[4]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float low = Exp2(scores[n][half * 2] - rows.safe_max[half]);
      const float high = Exp2(scores[n][half * 2 + 1] - rows.safe_max[half]);
      rows.sum[half] += low + high;
      weights[n * 2 + half] = V::Element::Pack(low, high);
    }
  }
}

template <IsDecodeInstance V>
__device__ __forceinline__ void AddValues(const uint32_t (&weights)[4],
                                          uint32_t tile_values,
                                          float (&values)[V::kHeadDim / 8][4]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t first = tile_values + SwizzledOffset<V>(lane % 16, lane / 16);
#pragma unroll
  for (int n = 0; n < V::kHeadDim / 16; ++n) {
    uint32_t m[4];
    LoadMatricesTransposed(m, first ^ (n * 32));
    V::Element::Multiply(values[n * 2], weights, m[0], m[1]);
    V::Element::Multiply(values[n * 2 + 1], weights, m[2], m[3]);
  }
}

// Attends the item's rows to its tiles, and hands each row's result, four
// dimensions at a time, to `emit(row, dim, state, float4 values)`: values are
// unnormalised, relative to the state's maximum. All threads of the CTA call.
template <IsDecodeInstance V, typename Emit>
__device__ __forceinline__ void AttendRange(const DecodeParams& p,
                                            const WorkItem& item, int kv_head,
                                            void* shared, Emit emit) {
  const uint32_t shared_query = SharedAddress(shared) + V::kRingBytes;
  IssueQuery<V>(p, item, kv_head, shared_query);
  KvRing<V> ring(p, item, kv_head, shared);
  ring.Fill();
  // The query was asked for before the length and the table were known, so it
  // is here before the first tile.
  WaitForCopies<V::kStages - 1>();
  __syncthreads();
  QueryFragments<V> query;
  query.Load(shared_query);

  RowPair rows;
  float values[V::kHeadDim / 8][4] = {};
  while (ring.HasTile()) {
    ring.IssueNext();
    const typename KvRing<V>::Tile kv = ring.Wait();
    float scores[2][4] = {};
    Score<V>(query, kv.keys, p.scale_log2, scores);
    const int live = item.context_len - kv.index * kTileTokens;
    if (live < kTileTokens) MaskTail(live, scores);
    RaiseMax(scores, rows, values);
    uint32_t weights[4];
    Weigh<V>(scores, rows, weights);
    AddValues<V>(weights, kv.values, values);
    ring.Release();
  }
  ring.Drain();

  SumOverLanes(rows);
  __syncthreads();  // every warp has left its ring
  MergeArea<V> area(shared);
  area.Store(item.num_rows, rows, values);
  __syncthreads();
  area.Merge(item.num_rows, emit);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_
