// Memory of a backend: host memory for the CPU, device memory for CUDA.
#ifndef PAGED_APPS_DEVICE_BUFFER_H_
#define PAGED_APPS_DEVICE_BUFFER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/device_profile.h"

namespace paged {

// Move-only owner. Both copies synchronise.
class DeviceBuffer {
 public:
  // An empty buffer, without memory.
  DeviceBuffer() = default;
  // ResourceExhausted when there is no memory; Unimplemented for CUDA in a
  // build without it. At least one byte, so that data() is never null.
  static absl::StatusOr<DeviceBuffer> Allocate(DeviceKind kind,
                                               std::size_t bytes);
  static absl::StatusOr<DeviceBuffer> CopyOf(DeviceKind kind, const void* host,
                                             std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Sets every byte; 0xff makes every floating point element a NaN.
  absl::Status Fill(unsigned char byte);
  // All bytes.
  absl::Status CopyTo(void* host) const;

 private:
  DeviceKind kind_ = DeviceKind::kCpu;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace paged

#endif  // PAGED_APPS_DEVICE_BUFFER_H_
