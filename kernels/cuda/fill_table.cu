// Fills a dense block table from CSR or from lists of blocks.
//
// Grid    one CTA per (sequence, span of its columns).
// Thread  kColumnsPerThread columns of the span, a CTA's width apart.
#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"

namespace paged {
namespace {

constexpr int kThreads = 128;
constexpr int kColumnsPerThread = 4;
constexpr int kColumnsPerCta = kThreads * kColumnsPerThread;

__global__ void __launch_bounds__(kThreads)
    FillTableKernel(const __grid_constant__ TableFillParams p,
                    int spans_per_row) {
  const int64_t seq = blockIdx.x / static_cast<unsigned>(spans_per_row);
  const int64_t span = blockIdx.x - seq * spans_per_row;
  const SourceRow row = SourceRowOf(p, seq);
  int32_t* to = p.block_tables + seq * p.row_stride;
#pragma unroll
  for (int i = 0; i < kColumnsPerThread; ++i) {
    const int64_t column = span * kColumnsPerCta + i * kThreads + threadIdx.x;
    if (column >= p.width) break;
    to[column] = column < row.num_columns ? row.blocks[column] : 0;
  }
  if (span == 0 && threadIdx.x == 0) {
    p.context_lens[seq] = row.context_len;
    if (p.cuts != nullptr) p.cuts[seq] = row.cuts;
  }
}

}  // namespace

cudaError_t LaunchFillTable(const TableFillParams& p, cudaStream_t stream) {
  if (p.num_seqs == 0) return cudaSuccess;
  // A row without columns has a length all the same.
  const int spans_per_row =
      p.width == 0 ? 1 : (p.width - 1) / kColumnsPerCta + 1;
  const auto ctas = static_cast<unsigned>(int64_t{p.num_seqs} * spans_per_row);
  return LaunchKernel(&FillTableKernel,
                      {.grid = dim3(ctas), .threads = kThreads}, stream, p,
                      spans_per_row);
}

}  // namespace paged
