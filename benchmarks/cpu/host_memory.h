// Memory for pools on the CPU, with pages of a chosen kind.
#ifndef PAGED_BENCHMARKS_CPU_HOST_MEMORY_H_
#define PAGED_BENCHMARKS_CPU_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace paged::benchmarks {

enum class Pages : uint8_t { kSmall, kHuge };

// Zeros, aligned to 2 MiB. Huge pages are asked for, and given as the system
// likes. Aborts when there is no memory.
class HostMemory {
 public:
  HostMemory(std::size_t bytes, Pages pages);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* mapping_;
  std::size_t mapping_bytes_;
  std::byte* data_;
  std::size_t bytes_;
};

// What Linux would give without swapping; no limit elsewhere.
int64_t AvailableHostBytes();

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CPU_HOST_MEMORY_H_
