// The kernels: thin entries around AttendRange that differ in the tiles they
// ask for and in what they do with the result.
#ifndef PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_
#define PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_

#include <cstdint>

#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cuda/attend_range.cuh"
#include "kernels/cuda/cluster_merge.cuh"
#include "kernels/cuda/core_range.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/reduce_row.cuh"

namespace paged {

// What blockIdx.x stands for.
struct ProgramIndex {
  uint32_t item;
  int kv_head;
};

__device__ __forceinline__ ProgramIndex ThisProgram(const DecodeParams& p) {
  const uint32_t num_kv_heads = static_cast<uint32_t>(p.num_kv_heads);
  const uint32_t item = blockIdx.x / num_kv_heads;
  return {item, static_cast<int>(blockIdx.x - item * num_kv_heads)};
}

// The header and the chunks are read-only while decode kernels run.
__device__ __forceinline__ Chunk LoadChunk(const Chunk* chunk) {
  const int4* words = reinterpret_cast<const int4*>(chunk);
  const int4 range = __ldg(words);
  const int4 place = __ldg(words + 1);
  return {range.x, range.y, range.z, range.w,
          place.x, place.y, place.z, place.w};
}

// Narrows the item to what its rows see, where the instance knows how, and
// runs the instance's loop over it.
template <IsDecodeInstance V, typename Emit>
__device__ __forceinline__ void Attend(const DecodeParams& p, WorkItem& item,
                                       int kv_head, char* shared, Emit emit) {
  if constexpr (V::kIsGeneral) {
    NarrowToVisible(p, item);
    if (item.num_rows == 0) return;
  }
  if constexpr (V::kHasTensorCores) {
    AttendRange<V>(p, item, kv_head, shared, emit);
  } else {
    AttendOnCores<V>(p, item, kv_head, shared, emit);
  }
}

// v1: the whole context, straight to the output.
template <IsDecodeInstance V>
__device__ __forceinline__ void V1Program(const DecodeParams& p) {
  extern __shared__ __align__(1024) char shared[];
  WaitForGridBefore();
  const auto [index, kv_head] = ThisProgram(p);
  WorkItem item = WholeItemAt(p, index);
  Attend<V>(p, item, kv_head, shared,
            [&](int row, int dim, SoftmaxState state, float4 values) {
              StoreOutput<OutputOf<V>>(p, item.table_row, kv_head,
                                       item.first_row + row, dim, state,
                                       values);
            });
}

template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    V1Kernel(const __grid_constant__ DecodeParams p) {
  V1Program<V>(p);
}

// split_k: a share of the context, to a partial.
template <IsDecodeInstance V>
__device__ __forceinline__ void SplitKProgram(const DecodeParams& p) {
  extern __shared__ __align__(1024) char shared[];
  WaitForGridBefore();
  const auto [index, kv_head] = ThisProgram(p);
  WorkItem item = SplitItemAt(p, index, static_cast<int>(blockIdx.y));
  Attend<V>(p, item, kv_head, shared,
            [&](int row, int dim, SoftmaxState state, float4 values) {
              StorePartial(p, item.partial, kv_head, row, dim, state, values);
            });
}

template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    SplitKKernel(const __grid_constant__ DecodeParams p) {
  SplitKProgram<V>(p);
}

// split_k in one kernel: blockIdx.y is the rank in the cluster.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    ClusterKernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  WaitForGridBefore();
  const auto [index, kv_head] = ThisProgram(p);
  const int split = static_cast<int>(blockIdx.y);
  WorkItem item = SplitItemAt(p, index, split);
  ClusterPartial<V> partial(shared);
  Attend<V>(p, item, kv_head, shared,
            [&](int row, int dim, SoftmaxState state, float4 values) {
              partial.Store(row, dim, state, values);
            });
  MergeCluster<V>(partial, p, item.num_rows, split,
                  [&](int row, int dim, SoftmaxState state, float4 values) {
                    StoreOutput<OutputOf<V>>(p, item.table_row, kv_head,
                                             item.first_row + row, dim, state,
                                             values);
                  });
}

// Whether this CTA is the last of `count` to store its partial; then the
// partials of all others are visible to it. Leaves the counter at zero. The
// answer passes through `shared`, which nobody else uses any more.
__device__ __forceinline__ bool IsLastToArrive(uint32_t* arrivals,
                                               uint32_t count, void* shared) {
  int* answer = static_cast<int*>(shared);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    const bool is_last = atomicAdd(arrivals, 1u) + 1u == count;
    if (is_last) *arrivals = 0;
    *answer = is_last;
  }
  __syncthreads();
  const bool is_last = *answer != 0;
  if (is_last) __threadfence();
  return is_last;
}

// Merges the partials of the item's rows, one warp a row.
template <IsDecodeInstance V>
__device__ __forceinline__ void ReduceItem(const DecodeParams& p,
                                           PartialRange parts,
                                           const WorkItem& item, int kv_head) {
  for (int row = static_cast<int>(threadIdx.x) / 32; row < item.num_rows;
       row += V::kWarps) {
    ReduceRow<OutputOf<V>>(p, parts, item.table_row, kv_head, row,
                           item.first_row + row);
  }
}

// split_k in one kernel: whoever comes last merges, in split order all the
// same.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    LastCtaKernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  WaitForGridBefore();
  const auto [index, kv_head] = ThisProgram(p);
  WorkItem item = SplitItemAt(p, index, static_cast<int>(blockIdx.y));
  Attend<V>(p, item, kv_head, shared,
            [&](int row, int dim, SoftmaxState state, float4 values) {
              StorePartial(p, item.partial, kv_head, row, dim, state, values);
            });
  if (!IsLastToArrive(p.arrivals + blockIdx.x, gridDim.y, shared)) return;
  ReduceItem<V>(p, SplitPartials(p, index), item, kv_head);
}

// A chunk of a schedule: to the output when it is the whole of its sequence,
// else as above. The grid has the schedule's capacity; CTAs past its chunks
// leave after one load.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    ChunkKernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  WaitForGridBefore();
  const auto [index, kv_head] = ThisProgram(p);
  const RowTile rows = RowTileAt(p, index);
  // In one go: what lies past the last chunk is loaded and not used.
  const int num_chunks = __ldg(&p.schedule.header->num_chunks);
  const Chunk chunk = LoadChunk(p.schedule.chunks + rows.rest);
  if (static_cast<int>(rows.rest) >= num_chunks) return;
  WorkItem item = ChunkItem(p, chunk, rows);
  Attend<V>(p, item, kv_head, shared,
            [&](int row, int dim, SoftmaxState state, float4 values) {
              if (item.is_whole) {
                StoreOutput<OutputOf<V>>(p, item.table_row, kv_head,
                                         item.first_row + row, dim, state,
                                         values);
              } else {
                StorePartial(p, item.partial, kv_head, row, dim, state, values);
              }
            });
  if (item.is_whole) return;
  const PartialRange parts = ChunkPartials(p, chunk, rows.row_tile);
  if (!IsLastToArrive(p.arrivals + parts.first * p.num_kv_heads + kv_head,
                      static_cast<uint32_t>(parts.count), shared)) {
    return;
  }
  ReduceItem<V>(p, parts, item, kv_head);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_
