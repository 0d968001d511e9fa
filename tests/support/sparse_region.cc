#include "tests/support/sparse_region.h"

#include <sys/mman.h>

#include <cstring>

#include "tests/support/cuda_memory.h"

namespace paged::testing {
namespace {

constexpr std::size_t kAlignment = std::size_t{1} << 32;

void* Map(std::size_t bytes) {
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

}  // namespace

SparseRegion::SparseRegion(BackendKind kind, std::size_t bytes)
    : kind_(kind), total_(bytes + kAlignment) {
  const bool is_cuda = kind == BackendKind::kCuda;
  allocation_ = is_cuda ? CudaTryAllocate(total_) : Map(total_);
  if (allocation_ == nullptr) return;
  if (is_cuda) CudaFill(allocation_, 0, total_);
  const auto address = reinterpret_cast<uintptr_t>(allocation_);
  data_ = static_cast<std::byte*>(allocation_) +
          (kAlignment - address % kAlignment) % kAlignment;
}

SparseRegion::~SparseRegion() {
  if (allocation_ == nullptr) return;
  if (kind_ == BackendKind::kCuda) {
    CudaFree(allocation_);
  } else {
    munmap(allocation_, total_);
  }
}

void SparseRegion::Write(std::size_t offset, const void* from,
                         std::size_t bytes) {
  if (kind_ == BackendKind::kCuda) {
    CudaCopy(data_ + offset, from, bytes);
  } else {
    std::memcpy(data_ + offset, from, bytes);
  }
}

void SparseRegion::Read(std::size_t offset, void* to, std::size_t bytes) const {
  if (kind_ == BackendKind::kCuda) {
    CudaCopy(to, data_ + offset, bytes);
  } else {
    std::memcpy(to, data_ + offset, bytes);
  }
}

}  // namespace paged::testing
