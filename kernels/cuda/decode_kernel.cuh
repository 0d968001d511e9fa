// The kernels: thin entries around AttendRange that differ in the range they
// ask for and in what they do with the result.
#ifndef PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_
#define PAGED_KERNELS_CUDA_DECODE_KERNEL_CUH_

#include <array>
#include <cstddef>
#include <utility>

#include "kernels/core/partition.h"
#include "kernels/cuda/attend_range.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/launch.h"

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
  const WorkItem item = SplitItemAt(p, index);
  AttendRange<V>(p, item, kv_head, shared,
                 [&](int row, int dim, SoftmaxState state, float4 values) {
                   StorePartial(p, item.partial, kv_head, row, dim, state,
                                values);
                 });
}

template <IsDecodeInstance V>
cudaError_t LaunchV1(const DecodeParams& p, cudaStream_t stream) {
  const unsigned ctas = static_cast<unsigned>(NumItems(p) * p.num_kv_heads);
  V1Kernel<V><<<ctas, V::kThreads, V::kSharedBytes, stream>>>(p);
  return cudaGetLastError();
}

template <IsDecodeInstance V>
cudaError_t LaunchSplitK(const DecodeParams& p, cudaStream_t stream) {
  const unsigned ctas = static_cast<unsigned>(NumItems(p) * p.num_kv_heads);
  SplitKKernel<V><<<ctas, V::kThreads, V::kSharedBytes, stream>>>(p);
  return cudaGetLastError();
}

template <IsDecodeInstance V>
DecodeKernel KernelOf() {
  return {V::kConfig, &LaunchV1<V>, &LaunchSplitK<V>,
          reinterpret_cast<const void*>(&V1Kernel<V>),
          reinterpret_cast<const void*>(&SplitKKernel<V>)};
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
