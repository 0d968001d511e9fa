#include "benchmarks/cpu/host_memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

namespace paged::benchmarks {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

int64_t AvailableHostBytes() {
  std::ifstream stream("/proc/meminfo");
  for (std::string key; stream >> key;) {
    int64_t kilobytes = 0;
    if (key == "MemAvailable:" && stream >> kilobytes) return kilobytes * 1024;
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<int64_t>::max();
}

HostMemory::HostMemory(std::size_t bytes, Pages pages)
    : mapping_bytes_(bytes + kHugePage), bytes_(bytes) {
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    std::perror("mmap");
    std::abort();
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) +
          (kHugePage - address % kHugePage) % kHugePage;
  madvise(data_, bytes,
          pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

HostMemory::~HostMemory() { munmap(mapping_, mapping_bytes_); }

}  // namespace paged::benchmarks
