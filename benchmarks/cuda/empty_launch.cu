#include "benchmarks/cuda/empty_launch.h"
#include "kernels/cuda/launch_kernel.cuh"

namespace paged::benchmarks {
namespace {

__global__ void EmptyKernel(const __grid_constant__ DecodeParams) {}

}  // namespace

cudaError_t LaunchEmpty(const DecodeParams& params, cudaStream_t stream) {
  return LaunchKernel(&EmptyKernel,
                      {.grid = dim3(1), .threads = 32, .starts_early = true},
                      stream, params);
}

}  // namespace paged::benchmarks
