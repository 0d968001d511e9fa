// A copy from any of a backend's memory to any other: what kernels that move
// data are measured against.
#ifndef PAGED_BENCHMARKS_PLAIN_COPY_H_
#define PAGED_BENCHMARKS_PLAIN_COPY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "paged/backend.h"

namespace paged::benchmarks {

// Enqueued. The host's memory counts as both backends'.
absl::Status PlainCopy(const Backend& backend, void* to, const void* from,
                       std::size_t bytes, Stream stream);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_PLAIN_COPY_H_
