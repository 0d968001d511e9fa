#include "tests/support/guarded_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/support/cuda_memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size)
#endif

namespace paged::testing {
namespace {

// Also the alignment; cudaMalloc gives 256 by itself.
constexpr std::size_t kZone = 256;

std::size_t WithZones(std::size_t bytes) {
  return (bytes + 3 * kZone - 1) / kZone * kZone;
}

}  // namespace

GuardedBuffer::GuardedBuffer(BackendKind kind, std::size_t bytes)
    : kind_(kind), bytes_(bytes) {
  const std::size_t total = WithZones(bytes);
  if (kind_ == BackendKind::kCuda) {
    allocation_ = static_cast<std::byte*>(CudaAllocate(total));
    const std::vector<std::byte> ones(total, std::byte{0xff});
    CudaCopy(allocation_, ones.data(), total);
    return;
  }
  allocation_ = static_cast<std::byte*>(std::aligned_alloc(kZone, total));
  std::memset(allocation_, 0xff, total);
  ASAN_POISON_MEMORY_REGION(allocation_, kZone);
  ASAN_POISON_MEMORY_REGION(begin() + bytes_, total - kZone - bytes_);
}

GuardedBuffer::~GuardedBuffer() {
  if (kind_ == BackendKind::kCuda) {
    CudaFree(allocation_);
    return;
  }
  ASAN_UNPOISON_MEMORY_REGION(allocation_, WithZones(bytes_));
  std::free(allocation_);
}

std::byte* GuardedBuffer::begin() const { return allocation_ + kZone; }

void GuardedBuffer::Upload(const std::vector<std::byte>& from) {
  const std::size_t count = std::min(bytes_, from.size());
  if (count == 0) return;
  if (kind_ == BackendKind::kCuda) {
    CudaCopy(begin(), from.data(), count);
  } else {
    std::memcpy(begin(), from.data(), count);
  }
}

void GuardedBuffer::Fill(std::byte value) {
  Upload(std::vector<std::byte>(bytes_, value));
}

std::vector<std::byte> GuardedBuffer::Download() const {
  std::vector<std::byte> to(bytes_);
  if (bytes_ == 0) return to;
  if (kind_ == BackendKind::kCuda) {
    CudaCopy(to.data(), begin(), bytes_);
  } else {
    std::memcpy(to.data(), begin(), bytes_);
  }
  return to;
}

bool GuardedBuffer::AreCanariesIntact() const {
  const std::size_t total = WithZones(bytes_);
  const std::size_t after = total - kZone - bytes_;
  std::vector<std::byte> zones(kZone + after);
  if (kind_ == BackendKind::kCuda) {
    CudaCopy(zones.data(), allocation_, kZone);
    CudaCopy(zones.data() + kZone, begin() + bytes_, after);
  } else {
    ASAN_UNPOISON_MEMORY_REGION(allocation_, total);
    std::memcpy(zones.data(), allocation_, kZone);
    std::memcpy(zones.data() + kZone, begin() + bytes_, after);
    ASAN_POISON_MEMORY_REGION(allocation_, kZone);
    ASAN_POISON_MEMORY_REGION(begin() + bytes_, after);
  }
  return std::all_of(zones.begin(), zones.end(),
                     [](std::byte b) { return b == std::byte{0xff}; });
}

}  // namespace paged::testing
