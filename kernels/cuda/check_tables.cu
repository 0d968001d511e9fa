// Finds the first sequence whose length or block table would lead a kernel out
// of the pool. For debugging: a thread walks a whole row of the table.
#include <cstddef>

#include "kernels/core/table_check.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"

namespace paged {
namespace {

constexpr int kThreads = 128;

// Leaves the number of the first sequence with a fault in `first`.
__global__ void __launch_bounds__(kThreads)
    FindFaultKernel(const __grid_constant__ DecodeParams p, int64_t num_blocks,
                    uint32_t* first) {
  const int64_t seq = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (seq >= p.num_seqs) return;
  if (FirstTableFault(p, num_blocks, seq).kind != TableFaultKind::kNone) {
    atomicMin(first, static_cast<uint32_t>(seq));
  }
}

__global__ void DescribeFaultKernel(const __grid_constant__ DecodeParams p,
                                    int64_t num_blocks, const uint32_t* first,
                                    TableFault* fault) {
  *fault = *first < static_cast<uint32_t>(p.num_seqs)
               ? FirstTableFault(p, num_blocks, *first)
               : TableFault{};
}

}  // namespace

cudaError_t LaunchCheckTables(const DecodeParams& p, int64_t num_blocks,
                              TableCheckResult* result, cudaStream_t stream) {
  const cudaError_t error =
      cudaMemsetAsync(&result->first, 0xff, sizeof(result->first), stream);
  if (error != cudaSuccess) return error;
  const unsigned ctas =
      static_cast<unsigned>((int64_t{p.num_seqs} + kThreads - 1) / kThreads);
  if (ctas != 0) {
    const cudaError_t launched = LaunchKernel(
        &FindFaultKernel, {.grid = dim3(ctas), .threads = kThreads}, stream, p,
        num_blocks, &result->first);
    if (launched != cudaSuccess) return launched;
  }
  return LaunchKernel(
      &DescribeFaultKernel, {.grid = dim3(1), .threads = 1}, stream, p,
      num_blocks, static_cast<const uint32_t*>(&result->first), &result->fault);
}

}  // namespace paged
