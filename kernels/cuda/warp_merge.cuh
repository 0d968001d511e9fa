// From the results of a CTA's warps to one: each warp leaves its rows in shared
// memory, and the threads share out the dimensions of the merged rows.
#ifndef PAGED_KERNELS_CUDA_WARP_MERGE_CUH_
#define PAGED_KERNELS_CUDA_WARP_MERGE_CUH_

#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/decode_instance.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/narrow_math.cuh"

namespace paged {

// The two rows of a lane in a row group. `safe_max` is 0 while the maximum is
// minus infinity, as in WeightOf.
struct RowPair {
  float max[2] = {-INFINITY, -INFINITY};
  float safe_max[2] = {0.0f, 0.0f};
  float sum[2] = {0.0f, 0.0f};
};

// Each lane has summed its own tokens.
template <typename Layout>
__device__ __forceinline__ void SumOverLanes(RowPair& rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    rows.sum[half] = OverSharers<Layout>(
        rows.sum[half], [](float a, float b) { return a + b; });
  }
}

// The warps' results in shared memory, on their way to one.
template <IsDecodeInstance V>
struct MergeArea {
  static constexpr int kRowStride = V::kConfig.merge_stride();
  static constexpr int kWarpFloats = V::kMaxRows * kRowStride;

  float* values;         // [kWarps, kMaxRows, kRowStride]
  SoftmaxState* states;  // [kWarps, kMaxRows]

  __device__ explicit MergeArea(void* shared)
      : values(static_cast<float*>(shared)),
        states(reinterpret_cast<SoftmaxState*>(values +
                                               V::kWarps * kWarpFloats)) {}

  // Where a warp leaves a row.
  __device__ __forceinline__ float* Line(int warp, int row) const {
    return values + warp * kWarpFloats + row * kRowStride;
  }
  __device__ __forceinline__ SoftmaxState& State(int warp, int row) const {
    return states[warp * V::kMaxRows + row];
  }

  // The rows of a row group.
  __device__ __forceinline__ void Store(int group, int num_rows,
                                        const RowPair& rows,
                                        const Columns<V>& columns) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group * V::Layout::kRows + V::Layout::Row(half);
      if (row >= num_rows) continue;
      TileMath<V>::StoreRow(Line(warp, row), columns, half);
      if (V::Layout::IsFirstOfRow())
        State(warp, row) = {rows.max[half], rows.sum[half]};
    }
  }

  // Merges the warps' results and hands four dimensions of a row at a time to
  // `emit(row, dim, state, values)`.
  template <typename Emit>
  __device__ __forceinline__ void Merge(const DecodeParams& p, int num_rows,
                                        Emit emit) const {
    const int quads = V::kIsGeneral ? p.value_dim / 4 : V::kValueDim / 4;
    for (int i = static_cast<int>(threadIdx.x); i < num_rows * quads;
         i += V::kThreads) {
      const int row = i / quads;
      const int dim = i % quads * 4;
      SoftmaxState parts[V::kWarps];
      SoftmaxState state;
#pragma unroll
      for (int w = 0; w < V::kWarps; ++w) {
        parts[w] = State(w, row);
        state.max_log2 = fmaxf(state.max_log2, parts[w].max_log2);
      }
      // Against the common maximum, so that no weight waits for another.
      float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int w = 0; w < V::kWarps; ++w) {
        const float weight = WeightOf(parts[w].max_log2, state.max_log2);
        const float4 x = *reinterpret_cast<const float4*>(
            values + w * kWarpFloats + row * kRowStride + dim);
        AddWeighted(weight, parts[w].sum, x, state.sum, sum);
      }
      emit(row, dim, state, sum);
    }
  }
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_WARP_MERGE_CUH_
