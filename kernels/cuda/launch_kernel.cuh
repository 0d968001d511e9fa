// Enqueues a kernel and returns what this launch, and no earlier call, did.
#ifndef PAGED_KERNELS_CUDA_LAUNCH_KERNEL_CUH_
#define PAGED_KERNELS_CUDA_LAUNCH_KERNEL_CUH_

#include <cuda_runtime.h>

#include <cstddef>

namespace paged {

struct LaunchShape {
  dim3 grid;
  int threads;
  int shared_bytes = 0;
  unsigned cluster_splits = 0;  // CTAs of a cluster along y; 0 for no clusters
};

// cudaLaunchKernelEx, unlike <<<>>> and cudaGetLastError, neither reports nor
// clears an error that a caller has not looked at yet.
template <typename... Parameters>
cudaError_t LaunchKernel(void (*kernel)(Parameters...),
                         const LaunchShape& shape, cudaStream_t stream,
                         Parameters... arguments) {
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, shape.cluster_splits, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = shape.cluster_splits == 0 ? 0 : 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_LAUNCH_KERNEL_CUH_
