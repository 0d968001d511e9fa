// The second pass of split_k.
//
// Grid    rows (sequence, kv head, row) dealt to CTAs of four warps.
// Warp    one row.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/reduce_row.cuh"

namespace paged {
namespace {

constexpr int kRowsPerCta = 4;

template <typename Output>
__global__ void __launch_bounds__(kRowsPerCta * 32)
    ReduceSplitsKernel(const __grid_constant__ DecodeParams p) {
  WaitForGridBefore();
  const uint32_t rows = static_cast<uint32_t>(NumRows(p));
  const uint32_t num_kv_heads = static_cast<uint32_t>(p.num_kv_heads);
  const uint32_t index = blockIdx.x * kRowsPerCta + threadIdx.x / 32;
  const uint32_t seq_head = index / rows;
  const int row = static_cast<int>(index - seq_head * rows);
  const int seq = static_cast<int>(seq_head / num_kv_heads);
  const int kv_head = static_cast<int>(seq_head) - seq * p.num_kv_heads;
  if (seq >= p.num_seqs) return;
  // Ragged query tokens: there may be fewer than the most.
  if (row >= QueryTokensOf(p, seq).q_len * p.group) return;
  const int row_tile = row / p.rows_per_item;
  ReduceRow<Output>(p,
                    SplitPartials(p, int64_t{seq} * p.num_row_tiles + row_tile),
                    seq, kv_head, row - row_tile * p.rows_per_item, row);
}

using ReduceKernel = void (*)(DecodeParams);

ReduceKernel KernelOf(const DecodeParams& p) {
  if (!IsGeneral(p) && p.query_element == ElementKind::kF16) {
    return &ReduceSplitsKernel<PlainOutput<ElementKind::kF16>>;
  }
  if (!IsGeneral(p) && p.query_element == ElementKind::kBF16) {
    return &ReduceSplitsKernel<PlainOutput<ElementKind::kBF16>>;
  }
  return &ReduceSplitsKernel<GeneralOutput>;
}

}  // namespace

cudaError_t PrepareReduceSplits(const DecodeParams& params) {
  cudaFuncAttributes attributes;  // asking for them loads the kernel
  return cudaFuncGetAttributes(&attributes, KernelOf(params));
}

cudaError_t LaunchReduceSplits(const DecodeParams& p, cudaStream_t stream) {
  const int64_t rows = int64_t{p.num_seqs} * p.num_kv_heads * NumRows(p);
  const unsigned ctas =
      static_cast<unsigned>((rows + kRowsPerCta - 1) / kRowsPerCta);
  return LaunchKernel(
      KernelOf(p),
      {.grid = dim3(ctas), .threads = kRowsPerCta * 32, .starts_early = true},
      stream, p);
}

}  // namespace paged
