// The ceiling: the loads of decode, through the same rings, without its
// arithmetic; and the values that benchmarks feed to both.
#include <array>
#include <cstddef>
#include <utility>

#include "kernels/core/hash.h"
#include "kernels/cuda/decode_kernel.cuh"

namespace paged {
namespace {

__device__ __forceinline__ uint32_t LoadShared(uint32_t address) {
  uint32_t word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
  return word;
}

template <IsDecodeInstance V>
__global__ void __launch_bounds__(V::kThreads)
    GatherKernel(const __grid_constant__ DecodeParams p, uint32_t* sink) {
  extern __shared__ __align__(1024) char shared[];
  WaitForGridBefore();
  const auto [index, kv_head] = ThisProgram(p);
  const bool has_schedule = p.max_chunks > 0;
  if (has_schedule && static_cast<int64_t>(index) >= NumChunkItems(p)) return;
  const WorkItem item =
      has_schedule ? ChunkItemAt(p, index) : SplitItemAt(p, index, blockIdx.y);
  KvRing<V> ring(p, item, kv_head, shared);
  ring.Fill();
  uint32_t seen = 0;
  while (ring.HasTile()) {
    ring.IssueNext();
    const typename KvRing<V>::Tile kv = ring.Wait();
    const uint32_t word = threadIdx.x % 32 * 16;
    seen ^= LoadShared(kv.keys + word) ^ LoadShared(kv.values + word);
    ring.Release();
  }
  ring.Drain();
  // Never true of what LaunchFill writes, and the compiler cannot know.
  if (seen == 0x9e3779b9u) *sink = seen;
}

using GatherLaunch = cudaError_t (*)(const DecodeParams&, bool, uint32_t*,
                                     cudaStream_t);

template <IsDecodeInstance V>
cudaError_t LaunchGatherOf(const DecodeParams& p, bool starts_early,
                           uint32_t* sink, cudaStream_t stream) {
  const cudaError_t error = cudaFuncSetAttribute(
      &GatherKernel<V>, cudaFuncAttributeMaxDynamicSharedMemorySize,
      V::kSharedBytes);
  if (error != cudaSuccess) return error;
  return LaunchKernel(&GatherKernel<V>,
                      p.max_chunks > 0
                          ? ShapeOfChunks<V>(p, starts_early)
                          : ShapeOf<V>(p, p.num_splits, starts_early),
                      stream, p, sink);
}

// Bytes are bytes: the instances of the first element serve all.
template <std::size_t... kIndex>
constexpr std::array<GatherLaunch, sizeof...(kIndex)> LaunchesOf(
    std::index_sequence<kIndex...>) {
  return {&LaunchGatherOf<DecodeInstance<kIndex>>...};
}

template <typename Element>
__global__ void FillKernel(uint16_t* data, int64_t count, uint32_t seed) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    data[i] = static_cast<uint16_t>(Element::Pack(HashUniform(seed, i), 0.0f));
  }
}

}  // namespace

cudaError_t LaunchGather(int head_dim, InstanceShape shape,
                         const DecodeParams& p, bool starts_early,
                         uint32_t* sink, cudaStream_t stream) {
  static constexpr auto kLaunches =
      LaunchesOf(std::make_index_sequence<kInstancesPerElement>{});
  for (std::size_t i = 0; i < kLaunches.size(); ++i) {
    if (kInstances[i].head_dim == head_dim && kInstances[i].shape == shape) {
      return kLaunches[i](p, starts_early, sink, stream);
    }
  }
  return cudaErrorInvalidValue;
}

cudaError_t LaunchFill(ElementKind element, void* data, int64_t count,
                       uint32_t seed, cudaStream_t stream) {
  auto* kernel = element == ElementKind::kF16
                     ? &FillKernel<DeviceElement<ElementKind::kF16>>
                     : &FillKernel<DeviceElement<ElementKind::kBF16>>;
  return LaunchKernel(kernel, {.grid = dim3(1024), .threads = 256}, stream,
                      static_cast<uint16_t*>(data), count, seed);
}

}  // namespace paged
