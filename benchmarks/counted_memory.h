// Counts what operator new is asked for, in programs that link this.
#ifndef PAGED_BENCHMARKS_COUNTED_MEMORY_H_
#define PAGED_BENCHMARKS_COUNTED_MEMORY_H_

#include <cstdint>

namespace paged {

int64_t NumAllocations();
int64_t NumAllocatedBytes();

}  // namespace paged

#endif  // PAGED_BENCHMARKS_COUNTED_MEMORY_H_
