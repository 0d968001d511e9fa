// The device loop on CUDA cores: every dtype of keys, values and queries, in
// float32, and every score rule. For what the tensor cores cannot do exactly
// (float32) or have no instance for; it is bound by arithmetic and latency.
//
// CTA     the rows of the item (at most eight) against the tiles of the item.
// Warp    every kWarps-th tile; all rows.
// Lane    in the product with K: one token, and half of the rows; in the one
//         with V: four neighbouring dimensions, and again every 128, all rows.
// Shared  Q in float32 [kMaxRows, key_dim + 4]; each warp's weights
//         [kTileTokens, kMaxRows] and factors [kMaxRows]; and the merge area.
//
// The invariant of the loop is that of attend_range.cuh.
#ifndef PAGED_KERNELS_CUDA_CORE_RANGE_CUH_
#define PAGED_KERNELS_CUDA_CORE_RANGE_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/visibility.h"
#include "kernels/cuda/any_element.cuh"
#include "kernels/cuda/query_tile.cuh"
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

template <IsDecodeInstance V>
class CoreRange {
  static constexpr int kRows = V::kMaxRows;
  static constexpr int kLaneRows = kRows / 2;
  static constexpr int kQuads = V::kValueDim / 128;  // of a lane
  static constexpr int kQueryStride = V::kKeyDim + 4;
  static_assert(kLaneRows == 4, "weights are stored four rows at a time");

 public:
  __device__ __forceinline__ CoreRange(const DecodeParams& p,
                                       const WorkItem& item, int kv_head,
                                       char* shared)
      : p_(p),
        item_(item),
        kv_head_(kv_head),
        lane_(static_cast<int>(threadIdx.x) % 32),
        first_row_(lane_ / kTileTokens * kLaneRows),
        query_(reinterpret_cast<float*>(shared + V::kWorkBytes)),
        weights_(query_ + kRows * kQueryStride +
                 threadIdx.x / 32 * ((kTileTokens + 1) * kRows)) {}

  __device__ __forceinline__ void LoadQuery() const {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * p_.key_dim;
         i += V::kThreads) {
      const int row = i / p_.key_dim;
      const int dim = i % p_.key_dim;
      query_[row * kQueryStride + dim] =
          row < item_.num_rows
              ? LoadAny(p_.query_element, p_.query.data,
                        QueryOffset<V>(p_, item_, kv_head_, row) + dim)
              : 0.0f;
    }
  }

  __device__ __forceinline__ void Run() {
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      rules_[r] =
          RowRulesOf(p_, item_, kv_head_,
                     item_.first_row + min(first_row_ + r, item_.num_rows - 1));
    }
    const int warp = static_cast<int>(threadIdx.x) / 32;
    for (int tile = item_.first_tile + warp * item_.tile_step;
         tile < item_.last_tile; tile += V::kWarps * item_.tile_step) {
      Attend(SequenceTile(item_, tile));
    }
  }

  // Leaves the warp's rows in the merge area.
  __device__ __forceinline__ void Store(const MergeArea<V>& area) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      float sum = states_[r].sum;
#pragma unroll
      for (int step = kTileTokens / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(kAllLanes, sum, step);
      }
      if (lane_ % kTileTokens == 0) {
        area.State(warp, first_row_ + r) = {states_[r].max_log2, sum};
      }
    }
#pragma unroll
    for (int quad = 0; quad < kQuads; ++quad) {
      const int dim = (quad * 32 + lane_) * 4;
      if (dim >= p_.value_dim) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        *reinterpret_cast<float4*>(area.Line(warp, r) + dim) = values_[quad][r];
      }
    }
  }

 private:
  using Storage = typename V::Storage;

  __device__ __forceinline__ const Storage* HeadOf(const KvView& view) const {
    return static_cast<const Storage*>(view.data) + kv_head_ * view.head_stride;
  }

  __device__ __forceinline__ void Attend(int tile) {
    // Lane l and lane l + 16 have token l of the tile. What no row sees is not
    // touched, neither in the table nor in the pool.
    const int position = tile * kTileTokens + lane_ % kTileTokens;
    const bool is_visible = Sees(item_.visible, position);
    const SlotPlace place = PlaceOf(position, p_.block_size);
    const int block =
        is_visible
            ? __ldg(p_.block_tables + item_.table_row * p_.block_table_stride +
                    place.logical_block)
            : 0;
    float scores[kLaneRows] = {};
    if (is_visible) Score(block, place.slot, scores);
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      scores[r] = is_visible
                      ? RuledScore(p_.rules, rules_[r], position, scores[r])
                      : -INFINITY;
    }
    __syncwarp();  // the weights of the last tile were read
    const float value_scale =
        is_visible ? TokenScale(p_.value_scales, block, place.slot, kv_head_)
                   : 0.0f;
    Weigh(scores, value_scale);
    __syncwarp();
    AddValues(block, place.slot, is_visible);
  }

  __device__ __forceinline__ void Score(int block, int slot,
                                        float (&scores)[kLaneRows]) const {
    const Storage* key = HeadOf(p_.key) + OffsetOf(p_.key, block, slot, 0);
    const float* query = query_ + first_row_ * kQueryStride;
#pragma unroll 2
    for (int dim = 0; dim < p_.key_dim; dim += 8) {
      float x[8];
      LoadEight<V::kElement>(key + dim, x);
#pragma unroll
      for (int r = 0; r < kLaneRows; ++r) {
        const float* row = query + r * kQueryStride + dim;
        const float4 low = *reinterpret_cast<const float4*>(row);
        const float4 high = *reinterpret_cast<const float4*>(row + 4);
        scores[r] += low.x * x[0] + low.y * x[1] + low.z * x[2] + low.w * x[3];
        scores[r] +=
            high.x * x[4] + high.y * x[5] + high.z * x[6] + high.w * x[7];
      }
    }
    const float scale = p_.scale_log2 * HeadScale(p_.key_scales, kv_head_) *
                        TokenScale(p_.key_scales, block, slot, kv_head_);
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) scores[r] *= scale;
  }

  // Takes the scores into the states, and leaves the weights of the values and
  // what they are to be rescaled by in shared memory.
  __device__ __forceinline__ void Weigh(const float (&scores)[kLaneRows],
                                        float value_scale) {
    float keeps[kLaneRows];
    float weights[kLaneRows];
#pragma unroll
    for (int r = 0; r < kLaneRows; ++r) {
      float max = scores[r];
#pragma unroll
      for (int step = kTileTokens / 2; step > 0; step /= 2) {
        max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, step));
      }
      max = fmaxf(states_[r].max_log2, max);
      keeps[r] = WeightOf(states_[r].max_log2, max);
      weights[r] = WeightOf(scores[r], max);
      states_[r] = {max, states_[r].sum * keeps[r] + weights[r]};
      weights[r] *= value_scale;
    }
    const int token = lane_ % kTileTokens;
    *reinterpret_cast<float4*>(weights_ + token * kRows + first_row_) = {
        weights[0], weights[1], weights[2], weights[3]};
    if (token == 0) {
      *reinterpret_cast<float4*>(weights_ + kTileTokens * kRows +
                                 first_row_) = {keeps[0], keeps[1], keeps[2],
                                                keeps[3]};
    }
  }

  __device__ __forceinline__ void LoadRows(const float* from,
                                           float (&rows)[kRows]) const {
#pragma unroll
    for (int r = 0; r < kRows; r += 4) {
      const float4 x = *reinterpret_cast<const float4*>(from + r);
      rows[r] = x.x;
      rows[r + 1] = x.y;
      rows[r + 2] = x.z;
      rows[r + 3] = x.w;
    }
  }

  __device__ __forceinline__ void AddValues(int block, int slot,
                                            bool is_visible) {
    float factors[kRows];
    LoadRows(weights_ + kTileTokens * kRows, factors);
#pragma unroll
    for (int quad = 0; quad < kQuads; ++quad) {
      if (quad * 128 >= p_.value_dim) break;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float4& sum = values_[quad][r];
        sum = {sum.x * factors[r], sum.y * factors[r], sum.z * factors[r],
               sum.w * factors[r]};
      }
    }
    const Storage* head = HeadOf(p_.value);
#pragma unroll 4
    for (int t = 0; t < kTileTokens; ++t) {
      const int token_block = __shfl_sync(kAllLanes, block, t);
      const int token_slot = __shfl_sync(kAllLanes, slot, t);
      if (!__shfl_sync(kAllLanes, is_visible, t)) continue;
      const Storage* token =
          head + OffsetOf(p_.value, token_block, token_slot, 0);
      float weights[kRows];
      LoadRows(weights_ + t * kRows, weights);
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
        if (quad * 128 >= p_.value_dim) break;
        const int dim = (quad * 32 + lane_) * 4;
        if (dim >= p_.value_dim) break;
        const float4 x = LoadFour<V::kElement>(token + dim);
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          float4& sum = values_[quad][r];
          sum = {sum.x + weights[r] * x.x, sum.y + weights[r] * x.y,
                 sum.z + weights[r] * x.z, sum.w + weights[r] * x.w};
        }
      }
    }
  }

  const DecodeParams& p_;
  const WorkItem& item_;
  int kv_head_;
  int lane_;
  int first_row_;  // of the lane, in the product with K
  float* query_;
  float* weights_;  // of the warp
  RowRules rules_[kLaneRows];
  SoftmaxState states_[kLaneRows];  // the sum over the lane's tokens alone
  float4 values_[kQuads][kRows] = {};
};

// As AttendRange.
template <IsDecodeInstance V, typename Emit>
__device__ __forceinline__ void AttendOnCores(const DecodeParams& p,
                                              const WorkItem& item, int kv_head,
                                              char* shared, Emit emit) {
  CoreRange<V> range(p, item, kv_head, shared);
  range.LoadQuery();
  __syncthreads();
  range.Run();
  MergeArea<V> area(shared);
  range.Store(area);
  __syncthreads();
  area.Merge(p, item.num_rows, emit);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_CORE_RANGE_CUH_
