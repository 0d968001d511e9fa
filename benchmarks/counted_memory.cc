#include "benchmarks/counted_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
int64_t num_allocations = 0;
int64_t num_allocated_bytes = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  ++num_allocations;
  num_allocated_bytes += static_cast<int64_t>(bytes);
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace paged {

int64_t NumAllocations() { return num_allocations; }
int64_t NumAllocatedBytes() { return num_allocated_bytes; }

}  // namespace paged
