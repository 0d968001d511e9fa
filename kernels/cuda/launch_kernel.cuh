// Enqueues a kernel and returns what this launch, and no earlier call, did.
#ifndef PAGED_KERNELS_CUDA_LAUNCH_KERNEL_CUH_
#define PAGED_KERNELS_CUDA_LAUNCH_KERNEL_CUH_

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace paged {

struct LaunchShape {
  dim3 grid;
  int threads;
  int shared_bytes = 0;
  unsigned cluster_splits = 0;  // CTAs of a cluster along y; 0 for no clusters
  // The kernel calls WaitForGridBefore (ptx.cuh) before it touches what others
  // do, so it may be launched before the grid before it has ended.
  bool starts_early = false;
};

// Whether the current device can launch a grid while the one before it runs:
// sm_90 and up. The answer of each device is asked for once.
inline bool CanLaunchEarly() {
  constexpr int kMaxDevices = 64;
  static std::atomic<int8_t> answers[kMaxDevices];  // 0: not asked
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= kMaxDevices) {
    return false;
  }
  int8_t answer = answers[device].load(std::memory_order_relaxed);
  if (answer == 0) {
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                               device) != cudaSuccess) {
      return false;
    }
    answer = major >= 9 ? 1 : -1;
    answers[device].store(answer, std::memory_order_relaxed);
  }
  return answer > 0;
}

// cudaLaunchKernelEx, unlike <<<>>> and cudaGetLastError, neither reports nor
// clears an error that a caller has not looked at yet.
template <typename... Parameters>
cudaError_t LaunchKernel(void (*kernel)(Parameters...),
                         const LaunchShape& shape, cudaStream_t stream,
                         Parameters... arguments) {
  cudaLaunchAttribute attributes[2];
  unsigned num_attributes = 0;
  if (shape.starts_early && CanLaunchEarly()) {
    cudaLaunchAttribute& early = attributes[num_attributes++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (shape.cluster_splits != 0) {
    cudaLaunchAttribute& cluster = attributes[num_attributes++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {1, shape.cluster_splits, 1};
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = num_attributes;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_LAUNCH_KERNEL_CUH_
