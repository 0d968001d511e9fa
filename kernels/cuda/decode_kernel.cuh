// The kernels: thin entries around AttendRange that differ in the tiles they
// ask for and in what they do with the result.
#ifndef PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_
#define PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_

#include <array>
#include <cstddef>
#include <utility>

#include "kernels/core/partition.h"
#include "kernels/cuda/attend_range.cuh"
#include "kernels/cuda/cluster_merge.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
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

// v1: the whole context, straight to the output.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    V1Kernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  const auto [index, kv_head] = ThisProgram(p);
  const WorkItem item = WholeItemAt(p, index);
  AttendRange<V>(p, item, kv_head, shared,
                 [&](int row, int dim, SoftmaxState state, float4 values) {
                   StoreOutput<typename V::Element>(p, item.table_row, kv_head,
                                                    item.first_row + row, dim,
                                                    state, values);
                 });
}

// split_k: a share of the context, to a partial.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    SplitKKernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  const auto [index, kv_head] = ThisProgram(p);
  const WorkItem item = SplitItemAt(p, index, static_cast<int>(blockIdx.y));
  AttendRange<V>(p, item, kv_head, shared,
                 [&](int row, int dim, SoftmaxState state, float4 values) {
                   StorePartial(p, item.partial, kv_head, row, dim, state,
                                values);
                 });
}

// split_k in one kernel: blockIdx.y is the rank in the cluster.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    ClusterKernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  const auto [index, kv_head] = ThisProgram(p);
  const int split = static_cast<int>(blockIdx.y);
  const WorkItem item = SplitItemAt(p, index, split);
  ClusterPartial<V> partial(shared);
  AttendRange<V>(p, item, kv_head, shared,
                 [&](int row, int dim, SoftmaxState state, float4 values) {
                   partial.Store(row, dim, state, values);
                 });
  MergeCluster<V>(partial, item.num_rows, p.num_splits, split,
                  [&](int row, int dim, SoftmaxState state, float4 values) {
                    StoreOutput<typename V::Element>(p, item.table_row, kv_head,
                                                     item.first_row + row, dim,
                                                     state, values);
                  });
}

// Whether this CTA is the last of its (item, kv head) to store its partial;
// then the partials of all others are visible to it. Leaves the count at zero.
__device__ __forceinline__ bool IsLastToArrive(const DecodeParams& p) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t* arrivals = p.arrivals + blockIdx.x;
    is_last = atomicAdd(arrivals, 1u) + 1u == gridDim.y;
    if (is_last) *arrivals = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

// split_k in one kernel: whoever comes last merges, in split order all the
// same.
template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads, V::kMinCtas)
    LastCtaKernel(const __grid_constant__ DecodeParams p) {
  extern __shared__ __align__(1024) char shared[];
  const auto [index, kv_head] = ThisProgram(p);
  const WorkItem item = SplitItemAt(p, index, static_cast<int>(blockIdx.y));
  AttendRange<V>(p, item, kv_head, shared,
                 [&](int row, int dim, SoftmaxState state, float4 values) {
                   StorePartial(p, item.partial, kv_head, row, dim, state,
                                values);
                 });
  if (!IsLastToArrive(p)) return;
  for (int row = static_cast<int>(threadIdx.x) / 32; row < item.num_rows;
       row += V::kWarps) {
    ReduceRow<typename V::Element>(p, item.table_row, kv_head,
                                   item.first_row + row);
  }
}

// CTAs side by side: (item, kv head); behind one another: splits.
inline dim3 GridOf(const DecodeParams& p, int num_splits) {
  return dim3(static_cast<unsigned>(NumItems(p) * p.num_kv_heads),
              static_cast<unsigned>(num_splits));
}

template <IsDecodeInstance V>
LaunchShape ShapeOf(const DecodeParams& p, int num_splits) {
  return {.grid = GridOf(p, num_splits),
          .threads = V::kThreads,
          .shared_bytes = V::kSharedBytes};
}

template <IsDecodeInstance V>
cudaError_t LaunchV1(const DecodeParams& p, cudaStream_t stream) {
  return LaunchKernel(&V1Kernel<V>, ShapeOf<V>(p, 1), stream, p);
}

template <IsDecodeInstance V>
cudaError_t LaunchSplitK(const DecodeParams& p, cudaStream_t stream) {
  return LaunchKernel(&SplitKKernel<V>, ShapeOf<V>(p, p.num_splits), stream, p);
}

template <IsDecodeInstance V>
cudaError_t LaunchCluster(const DecodeParams& p, cudaStream_t stream) {
  LaunchShape shape = ShapeOf<V>(p, p.num_splits);
  shape.cluster_splits = static_cast<unsigned>(p.num_splits);
  return LaunchKernel(&ClusterKernel<V>, shape, stream, p);
}

template <IsDecodeInstance V>
cudaError_t LaunchLastCta(const DecodeParams& p, cudaStream_t stream) {
  return LaunchKernel(&LastCtaKernel<V>, ShapeOf<V>(p, p.num_splits), stream,
                      p);
}

// In the order of KernelEnding.
template <IsDecodeInstance V>
DecodeKernel KernelOf() {
  return {
      V::kConfig,
      {&LaunchV1<V>, &LaunchSplitK<V>, &LaunchCluster<V>, &LaunchLastCta<V>},
      {reinterpret_cast<const void*>(&V1Kernel<V>),
       reinterpret_cast<const void*>(&SplitKKernel<V>),
       reinterpret_cast<const void*>(&ClusterKernel<V>),
       reinterpret_cast<const void*>(&LastCtaKernel<V>)}};
}

// kInstances lists the elements one after another.
inline constexpr std::size_t kInstancesPerElement =
    kInstances.size() / kInstanceElements.size();

// The instances of the kElement-th element.
template <std::size_t kElement, std::size_t... kIndex>
auto KernelsOf(std::index_sequence<kIndex...>) {
  return std::array{
      KernelOf<DecodeInstance<kElement * kInstancesPerElement + kIndex>>()...};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_
