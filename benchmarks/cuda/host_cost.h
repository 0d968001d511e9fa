// What a call costs the thread that makes it.
#ifndef PAGED_BENCHMARKS_CUDA_HOST_COST_H_
#define PAGED_BENCHMARKS_CUDA_HOST_COST_H_

#include <vector>

#include "benchmarks/cuda/problem.h"
#include "benchmarks/measurer.h"
#include "paged/backend.h"

namespace paged::benchmarks {

// Two rows without keys and values: "host_plan", MakePlan with everything left
// to the cost model; "host_run", Backend::Run with a plan that exists, until it
// returns. The device is idle when a round of it begins, and no round fills the
// stream's queue.
std::vector<Row> MeasureHost(CudaProblem& problem, const Backend& backend,
                             Cache cache, cudaStream_t stream);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_HOST_COST_H_
