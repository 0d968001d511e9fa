// Launches of the kernels of decode_kernel.cuh, and the instances of a file.
#ifndef PAGED_KERNELS_CUDA_DECODE_LAUNCH_CUH_
#define PAGED_KERNELS_CUDA_DECODE_LAUNCH_CUH_

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "kernels/cuda/decode_kernel.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/registry.h"

namespace paged {

// CTAs side by side: (item, kv head); behind one another: splits.
inline dim3 GridOf(const DecodeParams& p, int num_splits) {
  return dim3(static_cast<unsigned>(NumItems(p) * p.num_kv_heads),
              static_cast<unsigned>(num_splits));
}

template <IsDecodeInstance V>
LaunchShape ShapeOf(const DecodeParams& p, int num_splits, bool starts_early) {
  return {.grid = GridOf(p, num_splits),
          .threads = V::kThreads,
          .shared_bytes = V::kSharedBytes,
          .starts_early = starts_early};
}

template <IsDecodeInstance V>
cudaError_t LaunchV1(const DecodeParams& p, bool starts_early,
                     cudaStream_t stream) {
  return LaunchKernel(&V1Kernel<V>, ShapeOf<V>(p, 1, starts_early), stream, p);
}

template <IsDecodeInstance V>
cudaError_t LaunchSplitK(const DecodeParams& p, bool starts_early,
                         cudaStream_t stream) {
  return LaunchKernel(&SplitKKernel<V>,
                      ShapeOf<V>(p, p.num_splits, starts_early), stream, p);
}

template <IsDecodeInstance V>
cudaError_t LaunchCluster(const DecodeParams& p, bool starts_early,
                          cudaStream_t stream) {
  LaunchShape shape = ShapeOf<V>(p, p.num_splits, starts_early);
  shape.cluster_splits = static_cast<unsigned>(p.num_splits);
  return LaunchKernel(&ClusterKernel<V>, shape, stream, p);
}

// CTAs side by side: (chunk, row tile, kv head), as many as there may be.
template <IsDecodeInstance V>
LaunchShape ShapeOfChunks(const DecodeParams& p, bool starts_early) {
  const int64_t ctas = int64_t{p.max_chunks} * p.num_row_tiles * p.num_kv_heads;
  return {.grid = dim3(static_cast<unsigned>(ctas)),
          .threads = V::kThreads,
          .shared_bytes = V::kSharedBytes,
          .starts_early = starts_early};
}

template <IsDecodeInstance V>
cudaError_t LaunchChunks(const DecodeParams& p, bool starts_early,
                         cudaStream_t stream) {
  return LaunchKernel(&ChunkKernel<V>, ShapeOfChunks<V>(p, starts_early),
                      stream, p);
}

template <IsDecodeInstance V>
cudaError_t LaunchLastCta(const DecodeParams& p, bool starts_early,
                          cudaStream_t stream) {
  return LaunchKernel(&LastCtaKernel<V>,
                      ShapeOf<V>(p, p.num_splits, starts_early), stream, p);
}

// In the order of KernelEnding.
template <IsDecodeInstance V>
DecodeKernel KernelOf() {
  return {V::kConfig,
          {&LaunchV1<V>, &LaunchSplitK<V>, &LaunchCluster<V>, &LaunchLastCta<V>,
           &LaunchChunks<V>},
          {reinterpret_cast<const void*>(&V1Kernel<V>),
           reinterpret_cast<const void*>(&SplitKKernel<V>),
           reinterpret_cast<const void*>(&ClusterKernel<V>),
           reinterpret_cast<const void*>(&LastCtaKernel<V>),
           reinterpret_cast<const void*>(&ChunkKernel<V>)}};
}

// The instances of a family, in the order of kInstances.
template <ElementKind kElement, InstanceKind kKind, int kMaxRows>
constexpr auto IndicesOf() {
  constexpr auto is_one = [](const InstanceConfig& config) {
    return config.element == kElement && config.kind == kKind &&
           config.max_rows == kMaxRows;
  };
  std::array<std::size_t,
             std::count_if(kInstances.begin(), kInstances.end(), is_one)>
      indices{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < kInstances.size(); ++i) {
    if (is_one(kInstances[i])) indices[count++] = i;
  }
  return indices;
}

template <ElementKind kElement, InstanceKind kKind, int kMaxRows>
std::span<const DecodeKernel> KernelsOf() {
  static constexpr auto kIndices = IndicesOf<kElement, kKind, kMaxRows>();
  static const auto kernels =
      []<std::size_t... kI>(std::index_sequence<kI...>) {
    return std::array{KernelOf<DecodeInstance<kIndices[kI]>>()...};
  }
  (std::make_index_sequence<kIndices.size()>{});
  return kernels;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_DECODE_LAUNCH_CUH_
