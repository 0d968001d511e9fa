// The device loop that every decode kernel runs.
//
// Grid    blockIdx.x = item * num_kv_heads + kv_head: neighbours read
//         neighbouring heads of the same tokens; blockIdx.y = split.
// CTA     the rows of the item against the tiles of the item.
// Warp    every kWarps-th tile, streamed through a ring of its own; all rows.
// Lane    a fragment: two rows of each row group (fragment_layout.cuh).
// Shared  the rings of all warps (kv_ring.cuh), and the rows of Q; after the
//         loop the bytes of the rings hold each warp's accumulators for the
//         merge.
//
// Invariant of the loop: for each row, `max` is the largest score of the
// warp's tiles so far, or up to kMaxSlack below it; `sum` and `values` are the
// sums of exp2(score - max) and of the same times V. The maximum never falls,
// so the weights that go to the tensor cores in 16 bits never exceed 256.
#ifndef PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_
#define PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/kv_ring.cuh"
#include "kernels/cuda/lane_rules.cuh"
#include "kernels/cuda/query_tile.cuh"
#include "kernels/cuda/softmax_step.cuh"
#include "kernels/cuda/tile_math.cuh"
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

// The loop of one warp, and what it accumulates.
template <IsDecodeInstance V>
class WarpRange {
  static constexpr int kTiles = V::kTilesPerStage;
  static constexpr int kGroups = V::kRowGroups;
  using Math = TileMath<V>;
  using Element = typename Math::Element;
  using Layout = typename V::Layout;
  using Scores = paged::Scores<Layout>;
  using Rules = std::conditional_t<V::kIsGeneral, LaneRules<Layout, kGroups>,
                                   TailRule<Layout>>;

 public:
  // The query is in shared memory.
  __device__ __forceinline__ WarpRange(const DecodeParams& p,
                                       const WorkItem& item, int kv_head,
                                       const char* shared_query)
      : p_(p), rules_(p, item, kv_head) {
    query_.Load(SharedAddress(shared_query));
    const float scale = p.scale_log2 * HeadScale(p.key_scales, kv_head);
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        scales_[g][half] = scale * QueryScale<V>(shared_query, g, half);
      }
    }
  }

  // Takes in the stage that the ring has waited for.
  __device__ __forceinline__ void Attend(const KvRing<V>& ring) {
    Scores scores[kTiles][kGroups] = {};
    TokenScales<Layout> value_scales[kTiles];
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (ring.Has(t)) {
        if (HasScales(p_.value_scales))
          value_scales[t].Load(ring.At(t).scales + kTileTokens * 4);
        Score(ring.At(t), value_scales[t], scores[t]);
      } else {
#pragma unroll
        for (int g = 0; g < kGroups; ++g) MaskAll<Layout>(scores[t][g]);
      }
    }
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      RaiseMax<Layout>(scores, g, rows_[g], values_[g]);
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (!ring.Has(t)) break;
      AddValues(ring.At(t), value_scales[t], scores[t]);
    }
  }

  // Leaves the rows in the merge area.
  __device__ __forceinline__ void Store(int num_rows, MergeArea<V>& area) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      SumOverLanes<Layout>(rows_[g]);
      area.Store(g, num_rows, rows_[g], values_[g]);
    }
  }

 private:
  using Tile = typename KvRing<V>::Tile;

  // Whether rows are as long as the instance's: then no product looks for their
  // end, and all of a tile's lie side by side. Long rows of bytes lack the
  // registers.
  static __device__ __forceinline__ bool IsFull(int dim, int own_dim) {
    if (!V::kIsGeneral) return true;
    return !(V::kHasByteElements && V::kKeyDim > 128) && dim == own_dim;
  }

  // Whether keys, or values, have scales of single tokens.
  __device__ __forceinline__ bool HasScales(const KvScales& scales) const {
    return V::kIsGeneral && V::kHasByteElements && AreByToken(scales);
  }

  __device__ __forceinline__ void Score(const Tile& tile,
                                        const TokenScales<Layout>& value_scales,
                                        Scores (&scores)[kGroups]) {
    if (IsFull(p_.key_dim, V::kKeyDim)) {
      Math::Score(query_, tile.keys, V::kKeyDim, scores);
    } else {
      Math::Score(query_, tile.keys, p_.key_dim, scores);
    }
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      Scale<Layout>(scales_[g], scores[g]);
      if (HasScales(p_.key_scales))
        ScaleByToken<Layout>(tile.scales, scores[g]);
      rules_.Apply(tile.index, g, tile.biases, scores[g]);
      if (HasScales(p_.value_scales)) {
        AddExponents(value_scales, scores[g]);
      }
    }
  }

  __device__ __forceinline__ void AddValues(
      const Tile& tile, const TokenScales<Layout>& value_scales,
      const Scores (&scores)[kGroups]) {
    uint32_t weights[kGroups][Layout::kWeightWords];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (HasScales(p_.value_scales)) {
        WeighScaled<Layout, Element>(scores[g], value_scales, rows_[g],
                                     weights[g]);
      } else {
        Weigh<Layout, Element>(scores[g], rows_[g], weights[g]);
      }
    }
    if (IsFull(p_.value_dim, V::kValueDim)) {
      Math::AddValues(weights, tile.values, V::kValueDim, values_);
    } else {
      Math::AddValues(weights, tile.values, p_.value_dim, values_);
    }
  }

  const DecodeParams& p_;
  Rules rules_;
  QueryFragments<V> query_;
  float scales_[kGroups][2];  // of scores, base 2
  RowPair rows_[kGroups];
  Accumulators<V> values_ = {};
};

// Attends the item's rows to its tiles, and hands each row's result, four
// dimensions at a time, to `emit(row, dim, state, float4 values)`: values are
// unnormalised, relative to the state's maximum. All threads of the CTA call.
template <IsDecodeInstance V, typename Emit>
__device__ __forceinline__ void AttendRange(const DecodeParams& p,
                                            const WorkItem& item, int kv_head,
                                            char* shared, Emit emit) {
  char* shared_query = shared + V::kWorkBytes;
  // The query is asked for before the length and the table are known, and so is
  // here before the first tile.
  using Rows =
      std::conditional_t<V::kHasByteElements, QueryRows<V>, QueryCopies<V>>;
  Rows rows;
  rows.Load(p, item, kv_head, shared_query);
  KvRing<V> ring(p, item, kv_head, shared);
  ring.Fill();
  rows.Store(p, shared_query);
  __syncthreads();
  WarpRange<V> range(p, item, kv_head, shared_query);
  while (ring.HasTile()) {
    ring.IssueNext();
    ring.Wait();
    range.Attend(ring);
    ring.Release();
  }
  ring.Drain();

  __syncthreads();  // every warp has left its ring
  MergeArea<V> area(shared);
  range.Store(item.num_rows, area);
  __syncthreads();
  area.Merge(p, item.num_rows, emit);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_ATTEND_RANGE_CUH_
