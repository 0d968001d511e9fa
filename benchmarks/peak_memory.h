// What a piece of code allocates, in programs that link this: it replaces
// operator new.
#ifndef PAGED_BENCHMARKS_PEAK_MEMORY_H_
#define PAGED_BENCHMARKS_PEAK_MEMORY_H_

#include <cstdint>
#include <functional>

namespace paged::benchmarks {

// Bytes that were live at once during `call` beyond those before it, of all
// threads, as the allocator rounds them. -1 in a build with a sanitizer, whose
// operator new stays.
int64_t PeakBytesOf(const std::function<void()>& call);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_PEAK_MEMORY_H_
