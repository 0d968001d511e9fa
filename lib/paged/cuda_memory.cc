#include "paged/internal/cuda_memory.h"

#include "absl/strings/str_cat.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {

absl::StatusOr<Buffer> CudaAllocate(std::size_t bytes, MemoryKind kind) {
  if (bytes == 0) return Buffer();
  void* data = nullptr;
  if (kind == MemoryKind::kDevice) {
    PAGED_RETURN_IF_ERROR(CudaStatus(
        cudaMalloc(&data, bytes), absl::StrCat("buffer of ", bytes, " bytes")));
    return Buffer(data, bytes, [](void* p) { (void)cudaFree(p); });
  }
  PAGED_RETURN_IF_ERROR(CudaStatus(
      cudaHostAlloc(&data, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
      absl::StrCat("page-locked buffer of ", bytes, " bytes")));
  return Buffer(data, bytes, [](void* p) { (void)cudaFreeHost(p); });
}

absl::StatusOr<Fence> CudaMakeFence() {
  cudaEvent_t event = nullptr;
  PAGED_RETURN_IF_ERROR(CudaStatus(
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event"));
  return Fence(event, [](void* p) {
    (void)cudaEventDestroy(static_cast<cudaEvent_t>(p));
  });
}

absl::Status CudaRecord(Fence& fence, Stream stream) {
  return CudaStatus(
      cudaEventRecord(static_cast<cudaEvent_t>(fence.handle()), stream),
      "event record");
}

absl::Status CudaWait(const Fence& fence) {
  return CudaStatus(
      cudaEventSynchronize(static_cast<cudaEvent_t>(fence.handle())),
      "event wait");
}

}  // namespace paged::internal
