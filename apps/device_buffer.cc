#include "apps/device_buffer.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/cuda_error.h"
#include "paged/internal/status_macros.h"

#ifdef PAGED_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace paged {
namespace {

constexpr std::align_val_t kAlignment{256};

}  // namespace

absl::StatusOr<DeviceBuffer> DeviceBuffer::Allocate(DeviceKind kind,
                                                    std::size_t bytes) {
  const std::size_t capacity = std::max<std::size_t>(bytes, 1);
  DeviceBuffer buffer;
  buffer.kind_ = kind;
  buffer.bytes_ = bytes;
  if (kind == DeviceKind::kCpu) {
    buffer.data_ = ::operator new(capacity, kAlignment, std::nothrow);
    if (buffer.data_ == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", bytes, " bytes"));
    }
    return buffer;
  }
#ifdef PAGED_HAS_CUDA
  PAGED_RETURN_IF_ERROR(FromCuda(cudaMalloc(&buffer.data_, capacity),
                                 "allocating device memory"));
  return buffer;
#else
  return absl::UnimplementedError("this build has no CUDA");
#endif
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::CopyOf(DeviceKind kind,
                                                  const void* host,
                                                  std::size_t bytes) {
  PAGED_ASSIGN_OR_RETURN(DeviceBuffer buffer, Allocate(kind, bytes));
  if (bytes == 0) return buffer;
  if (kind == DeviceKind::kCpu) {
    std::memcpy(buffer.data_, host, bytes);
    return buffer;
  }
#ifdef PAGED_HAS_CUDA
  PAGED_RETURN_IF_ERROR(
      FromCuda(cudaMemcpy(buffer.data_, host, bytes, cudaMemcpyHostToDevice),
               "copying to the device"));
#endif
  return buffer;
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  if (kind_ == DeviceKind::kCpu) ::operator delete(data_, kAlignment);
#ifdef PAGED_HAS_CUDA
  if (kind_ == DeviceKind::kCuda) cudaFree(data_);
#endif
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : kind_(other.kind_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

absl::Status DeviceBuffer::Fill(unsigned char byte) {
  if (bytes_ == 0) return absl::OkStatus();
  if (kind_ == DeviceKind::kCpu) {
    std::memset(data_, byte, bytes_);
    return absl::OkStatus();
  }
#ifdef PAGED_HAS_CUDA
  PAGED_RETURN_IF_ERROR(
      FromCuda(cudaMemset(data_, byte, bytes_), "filling device memory"));
  return FromCuda(cudaDeviceSynchronize(), "filling device memory");
#else
  return absl::UnimplementedError("this build has no CUDA");
#endif
}

absl::Status DeviceBuffer::CopyTo(void* host) const {
  if (bytes_ == 0) return absl::OkStatus();
  if (kind_ == DeviceKind::kCpu) {
    std::memcpy(host, data_, bytes_);
    return absl::OkStatus();
  }
#ifdef PAGED_HAS_CUDA
  return FromCuda(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost),
                  "copying from the device");
#else
  return absl::UnimplementedError("this build has no CUDA");
#endif
}

}  // namespace paged
