// The ceiling: the loads of decode, through the same rings, without its
// arithmetic; and the values that benchmarks feed to both.
#include <cuda_fp8.h>

#include <array>
#include <cstddef>
#include <utility>

#include "kernels/core/hash.h"
#include "kernels/cuda/decode_launch.cuh"

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
  WorkItem item =
      has_schedule ? ChunkItemAt(p, index) : SplitItemAt(p, index, blockIdx.y);
  if constexpr (V::kIsGeneral) NarrowToVisible(p, item);
  KvRing<V> ring(p, item, kv_head, shared);
  ring.Fill();
  uint32_t seen = 0;
  while (ring.HasTile()) {
    ring.IssueNext();
    ring.Wait();
    const typename KvRing<V>::Tile kv = ring.At(0);
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

// Whether two instances load alike.
constexpr bool HaveOneRing(const InstanceConfig& a, const InstanceConfig& b) {
  return BytesOf(a.element) == BytesOf(b.element) && a.kind == b.kind &&
         a.key_dim == b.key_dim && a.value_dim == b.value_dim &&
         a.shape == b.shape && a.tiles_per_stage() == b.tiles_per_stage();
}

// The first instance of each ring: bytes are bytes, and rows of Q do not
// matter.
constexpr bool IsFirstOfRing(std::size_t index) {
  if (!kInstances[index].has_tensor_cores()) return false;
  for (std::size_t i = 0; i < index; ++i) {
    if (HaveOneRing(kInstances[i], kInstances[index])) return false;
  }
  return true;
}

constexpr std::size_t kNumRings = [] {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kInstances.size(); ++i) count += IsFirstOfRing(i);
  return count;
}();

constexpr auto kRings = [] {
  std::array<std::size_t, kNumRings> rings{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kInstances.size(); ++i) {
    if (IsFirstOfRing(i)) rings[count++] = i;
  }
  return rings;
}();

GatherLaunch LaunchOf(const InstanceConfig& config) {
  return [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    GatherLaunch found = nullptr;
    ((found = HaveOneRing(kInstances[kRings[kI]], config)
                  ? &LaunchGatherOf<DecodeInstance<kRings[kI]>>
                  : found),
     ...);
    return found;
  }
  (std::make_index_sequence<kNumRings>{});
}

__device__ __forceinline__ void StoreElement(ElementKind element, void* data,
                                             int64_t index, float x) {
  if (element == ElementKind::kInt8) {
    static_cast<int8_t*>(data)[index] = static_cast<int8_t>(x * 8.0f);
  } else if (BytesOf(element) == 1) {
    static_cast<__nv_fp8_storage_t*>(data)[index] = __nv_cvt_float_to_fp8(
        x, __NV_SATFINITE,
        element == ElementKind::kE4M3 ? __NV_E4M3 : __NV_E5M2);
  } else {
    StoreOne(element, data, index, x);
  }
}

__global__ void FillKernel(ElementKind element, void* data, int64_t count,
                           uint32_t seed) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    StoreElement(element, data, i, HashElement(element, seed, i));
  }
}

}  // namespace

cudaError_t LaunchGather(const InstanceConfig& config, const DecodeParams& p,
                         bool starts_early, uint32_t* sink,
                         cudaStream_t stream) {
  const GatherLaunch launch = LaunchOf(config);
  if (launch == nullptr) return cudaErrorInvalidValue;
  return launch(p, starts_early, sink, stream);
}

cudaError_t LaunchFill(ElementKind element, void* data, int64_t count,
                       uint32_t seed, cudaStream_t stream) {
  return LaunchKernel(&FillKernel, {.grid = dim3(1024), .threads = 256}, stream,
                      element, data, count, seed);
}

}  // namespace paged
