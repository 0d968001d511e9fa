// What decode on a GPU costs the host.
#ifndef PAGED_BENCHMARKS_CUDA_HOST_ROWS_H_
#define PAGED_BENCHMARKS_CUDA_HOST_ROWS_H_

#include <vector>

#include "benchmarks/cuda/timing.h"
#include "benchmarks/measurer.h"
#include "paged/backend.h"

namespace paged::benchmarks {

// Plans, runs and their lowering for every HostShapes, and one bare launch.
// `backend` and `stream` outlive the rows.
std::vector<HostRow> CudaHostRows(Backend& backend, cudaStream_t stream);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_HOST_ROWS_H_
