// The second pass of split_k: merges the partials of each row in split order.
//
// Grid    rows (sequence, kv head, row) dealt to CTAs of four warps.
// Warp    one row: the largest maximum first, then 32 splits at a time, whose
//         weights the lanes compute and hand round.
// Lane    four neighbouring dimensions, and again every 128.
#include "kernels/core/partition.h"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch.h"

namespace paged {
namespace {

constexpr int kRowsPerCta = 4;

// Loads that a lane has in flight: the pass is bound by latency.
constexpr int kSplitsAtOnce = 8;

// State of split `split`, or the empty state past the last one.
__device__ __forceinline__ SoftmaxState StateOf(const DecodeParams& p,
                                                int64_t first_row, int split) {
  const int64_t stride = int64_t{p.num_kv_heads} * p.rows_per_item;
  return split < p.num_splits ? p.partials.states[first_row + split * stride]
                              : SoftmaxState{};
}

// Adds the splits whose states lanes `first`, `first` + 1, ... hold: all loads
// first, then the sums in split order. An empty split (also one past the last)
// has a sum of 0, and what it left in its values is nobody's business.
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
      x[i] = *reinterpret_cast<const float4*>(values + i * split_stride);
    }
  }
#pragma unroll
  for (int i = 0; i < kSplitsAtOnce; ++i) {
    const float weight = __shfl_sync(kAllLanes, lane_weight, first + i);
    total += weight * sums[i];
    sum.x += weight * x[i].x;
    sum.y += weight * x[i].y;
    sum.z += weight * x[i].z;
    sum.w += weight * x[i].w;
  }
}

template <typename Element>
__global__ void __launch_bounds__(kRowsPerCta * 32)
    ReduceSplitsKernel(const __grid_constant__ DecodeParams p) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const uint32_t rows = static_cast<uint32_t>(NumRows(p));
  const uint32_t num_kv_heads = static_cast<uint32_t>(p.num_kv_heads);
  const uint32_t index = blockIdx.x * kRowsPerCta + threadIdx.x / 32;
  const uint32_t seq_head = index / rows;
  const int row = static_cast<int>(index - seq_head * rows);
  const int seq = static_cast<int>(seq_head / num_kv_heads);
  const int kv_head = static_cast<int>(seq_head) - seq * p.num_kv_heads;
  if (seq >= p.num_seqs) return;

  const int row_tile = row / p.rows_per_item;
  const int64_t first_row =
      PartialRow(p, FirstPartial(p, seq, row_tile), kv_head,
                 row - row_tile * p.rows_per_item);
  const int64_t split_stride =
      int64_t{p.num_kv_heads} * p.rows_per_item * p.value_dim;

  float max = -INFINITY;
  for (int split = lane; split < p.num_splits; split += 32) {
    max = fmaxf(max, StateOf(p, first_row, split).max_log2);
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
    for (int chunk = 0; chunk < p.num_splits; chunk += 32) {
      const SoftmaxState state = StateOf(p, first_row, chunk + lane);
      const float weight = WeightOf(state.max_log2, max);
      for (int first = 0; first < min(32, p.num_splits - chunk);
           first += kSplitsAtOnce) {
        AddSplits(values + (chunk + first) * split_stride, split_stride, first,
                  state.sum, weight, total.sum, sum);
      }
    }
    if (has_dim) {
      StoreOutput<Element>(p, seq, kv_head, row, dim, total, sum);
    }
  }
}

const void* FunctionOf(ElementKind output) {
  return output == ElementKind::kF16
             ? reinterpret_cast<const void*>(
                   &ReduceSplitsKernel<DeviceElement<ElementKind::kF16>>)
             : reinterpret_cast<const void*>(
                   &ReduceSplitsKernel<DeviceElement<ElementKind::kBF16>>);
}

}  // namespace

cudaError_t PrepareReduceSplits(ElementKind output) {
  cudaFuncAttributes attributes;  // asking for them loads the kernel
  return cudaFuncGetAttributes(&attributes, FunctionOf(output));
}

cudaError_t LaunchReduceSplits(ElementKind output, const DecodeParams& p,
                               cudaStream_t stream) {
  const int64_t rows = int64_t{p.num_seqs} * p.num_kv_heads * NumRows(p);
  const unsigned ctas =
      static_cast<unsigned>((rows + kRowsPerCta - 1) / kRowsPerCta);
  DecodeParams params = p;
  void* arguments[] = {&params};
  return cudaLaunchKernel(FunctionOf(output), dim3(ctas),
                          dim3(kRowsPerCta * 32), arguments, 0, stream);
}

}  // namespace paged
