// Merging the partials of one row, in split order: what the second pass and the
// last CTA to arrive both do, and so to the same bits.
#ifndef PAGED_KERNELS_CUDA_REDUCE_ROW_CUH_
#define PAGED_KERNELS_CUDA_REDUCE_ROW_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {

// Loads that a lane has in flight: a reduction is bound by latency.
inline constexpr int kSplitsAtOnce = 8;

// Loads of partials bypass L1, where what another SM wrote may be stale.
__device__ __forceinline__ SoftmaxState LoadState(const SoftmaxState* state) {
  static_assert(sizeof(SoftmaxState) == sizeof(float2));
  const float2 pair = __ldcg(reinterpret_cast<const float2*>(state));
  return {pair.x, pair.y};
}

// State of the `split`-th of `count` partials, or the empty state past the
// last.
__device__ __forceinline__ SoftmaxState StateOf(const DecodeParams& p,
                                                int64_t first_row, int split,
                                                int count) {
  const int64_t stride = int64_t{p.num_kv_heads} * p.rows_per_item;
  return split < count
             ? LoadState(p.partials.states + first_row + split * stride)
             : SoftmaxState{};
}

// Adds the splits whose states lanes `first`, `first` + 1, ... hold: all loads
// first, then the sums in split order. An empty split (also one past the last)
// has a sum of 0; its values are not even loaded.
__device__ __forceinline__ void AddSplits(const float* values,
                                          int64_t split_stride, int first,
                                          float lane_sum, float lane_weight,
                                          float& total, float4& sum) {
  float sums[kSplitsAtOnce];
  float4 x[kSplitsAtOnce];
#pragma unroll
  for (int i = 0; i < kSplitsAtOnce; ++i) {
    sums[i] = __shfl_sync(kAllLanes, lane_sum, first + i);
    x[i] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (sums[i] != 0.0f) {
      x[i] = __ldcg(reinterpret_cast<const float4*>(values + i * split_stride));
    }
  }
#pragma unroll
  for (int i = 0; i < kSplitsAtOnce; ++i) {
    const float weight = __shfl_sync(kAllLanes, lane_weight, first + i);
    AddWeighted(weight, sums[i], x[i], total, sum);
  }
}

// One warp merges row `row_in_item` of the partials `parts`, which is row `row`
// of the kv head: the largest maximum first, then 32 partials at a time, whose
// weights the lanes compute and hand round. A lane has four neighbouring
// dimensions, and again every 128.
template <typename Output>
__device__ __forceinline__ void ReduceRow(const DecodeParams& p,
                                          PartialRange parts, int seq,
                                          int kv_head, int row_in_item,
                                          int row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t first_row = PartialRow(p, parts.first, kv_head, row_in_item);
  const int64_t split_stride =
      int64_t{p.num_kv_heads} * p.rows_per_item * p.value_dim;

  const SoftmaxState first_state = StateOf(p, first_row, lane, parts.count);
  float max = first_state.max_log2;
  for (int split = lane + 32; split < parts.count; split += 32) {
    max = fmaxf(max, StateOf(p, first_row, split, parts.count).max_log2);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, step));
  }

  for (int dim = lane * 4; dim - lane * 4 < p.value_dim; dim += 128) {
    const bool has_dim = dim < p.value_dim;
    const float* values =
        p.partials.values + first_row * p.value_dim + (has_dim ? dim : 0);
    SoftmaxState total{max, 0.0f};
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int batch = 0; batch < parts.count; batch += 32) {
      const SoftmaxState state =
          batch == 0 ? first_state
                     : StateOf(p, first_row, batch + lane, parts.count);
      const float weight = WeightOf(state.max_log2, max);
      for (int first = 0; first < min(32, parts.count - batch);
           first += kSplitsAtOnce) {
        AddSplits(values + (batch + first) * split_stride, split_stride, first,
                  state.sum, weight, total.sum, sum);
      }
    }
    if (has_dim) {
      StoreOutput<Output>(p, seq, kv_head, row, dim, total, sum);
    }
  }
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_REDUCE_ROW_CUH_
