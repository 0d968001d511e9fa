// Memory and events of CUDA behind the library's own types, and which device is
// current.
#ifndef PAGED_LIB_PAGED_INTERNAL_CUDA_MEMORY_H_
#define PAGED_LIB_PAGED_INTERNAL_CUDA_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/backend.h"
#include "paged/device_memory.h"
#include "paged/internal/cuda_status.h"

namespace paged::internal {

// Makes a device current, and the previous one again at the end.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    error_ = cudaGetDevice(&previous_);
    if (error_ == cudaSuccess && previous_ != device) {
      error_ = cudaSetDevice(device);
      changed_ = error_ == cudaSuccess;
    }
  }
  ~DeviceGuard() {
    if (changed_) (void)cudaSetDevice(previous_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  absl::Status status() const { return CudaStatus(error_, "current device"); }

 private:
  int previous_ = 0;
  bool changed_ = false;
  cudaError_t error_ = cudaSuccess;
};

// On the current device.
absl::StatusOr<Buffer> CudaAllocate(std::size_t bytes, MemoryKind kind);
absl::StatusOr<Fence> CudaMakeFence();
absl::Status CudaRecord(Fence& fence, Stream stream);
absl::Status CudaWait(const Fence& fence);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CUDA_MEMORY_H_
