// How long a piece of a backend's work takes.
#ifndef PAGED_APPS_TIMING_H_
#define PAGED_APPS_TIMING_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/backend.h"

namespace paged {

// Median microseconds of several calls of `enqueue`, which puts work on the
// default stream: CUDA events around each call on a GPU, wall clock with a
// wait on a CPU. Calls at least three times, then for about 50 ms. The caches
// are warm. Synchronises.
absl::StatusOr<double> MedianMicroseconds(
    Backend& backend, const std::function<absl::Status()>& enqueue);

}  // namespace paged

#endif  // PAGED_APPS_TIMING_H_
