// What a record says about its GPU.
#ifndef PAGED_BENCHMARKS_CUDA_DEVICE_CONTEXT_H_
#define PAGED_BENCHMARKS_CUDA_DEVICE_CONTEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cuda/timing.h"
#include "paged/backend.h"

namespace paged::benchmarks {

// Keys and values; the read ceiling among them is measured here.
std::vector<std::pair<std::string, std::string>> DeviceContext(
    Backend& backend, cudaStream_t stream);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_DEVICE_CONTEXT_H_
