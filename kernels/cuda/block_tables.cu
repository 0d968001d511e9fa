// Keeps the block table of a batch on the device.
//
// UpdateTableKernel  Grid over entries and rows. Reads the staging buffer in
// the
//                    host's memory, 8 bytes per entry and 12 per row of the
//                    batch, so that a step needs no copy besides.
// BatchTableKernel   One CTA per row of the batch, and one more for indptr's
//                    end. Each adds up the columns of the rows before its own:
//                    a few loads per thread, for want of a second kernel.
#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"

namespace paged {
namespace {

constexpr int kUpdateThreads = 256;
constexpr int kRowThreads = 128;

__global__ void __launch_bounds__(kUpdateThreads)
    UpdateTableKernel(const __grid_constant__ TableUpdateParams p) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < p.num_entries) {
    const TableEntry entry = p.staged_entries[i];
    p.table[entry.index] = entry.block;
  }
  if (p.num_rows < 0 || i >= p.batch) return;
  const bool is_live = i < p.num_rows;
  p.rows[i] = is_live ? p.staged_rows[i] : BatchRow{};
  p.rings[i] =
      is_live && p.staged_rings != nullptr ? p.staged_rings[i] : RingRow{};
}

// Columns of all rows before `row`, in every thread.
__device__ int ColumnsBefore(const BatchTableParams& p, int row) {
  __shared__ int sums[kRowThreads / 32];
  int sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row; i += kRowThreads) {
    sum += ColumnsOf(p.rows[i], p.block_size);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  }
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  int total = 0;
  for (int warp = 0; warp < kRowThreads / 32; ++warp) total += sums[warp];
  return total;
}

__global__ void __launch_bounds__(kRowThreads)
    BatchTableKernel(const __grid_constant__ BatchTableParams p) {
  const int row = static_cast<int>(blockIdx.x);
  const int begin = ColumnsBefore(p, row);
  const bool is_first_thread = threadIdx.x == 0;
  if (is_first_thread) p.indptr[row] = begin;
  if (row == p.batch) return;
  const int columns = ColumnsOf(p.rows[row], p.block_size);
  int32_t* dense = p.batch_table + int64_t{row} * p.batch_width;
  for (int i = static_cast<int>(threadIdx.x); i < p.batch_width;
       i += kRowThreads) {
    const int32_t block = i < columns ? ListedBlock(p, row, i) : 0;
    dense[i] = block;
    if (i < columns) p.indices[begin + i] = block;
  }
  for (int i = static_cast<int>(threadIdx.x); i < p.max_new_tokens;
       i += kRowThreads) {
    p.slot_mapping[int64_t{row} * p.max_new_tokens + i] =
        SlotOfNewToken(p, row, i);
  }
  if (is_first_thread) {
    p.context_lens[row] = p.rows[row].context_len;
    p.last_block_lens[row] = LastBlockLen(p.rows[row], p.block_size);
  }
}

}  // namespace

cudaError_t LaunchTableUpdate(const TableUpdateParams& p, cudaStream_t stream) {
  const int rows = p.num_rows < 0 ? 0 : p.batch;
  const int items = p.num_entries > rows ? p.num_entries : rows;
  if (items == 0) return cudaSuccess;
  const auto ctas =
      static_cast<unsigned>((items + kUpdateThreads - 1) / kUpdateThreads);
  return LaunchKernel(&UpdateTableKernel,
                      {.grid = dim3(ctas), .threads = kUpdateThreads}, stream,
                      p);
}

cudaError_t LaunchBatchTable(const BatchTableParams& p, cudaStream_t stream) {
  return LaunchKernel(&BatchTableKernel,
                      {.grid = dim3(static_cast<unsigned>(p.batch) + 1),
                       .threads = kRowThreads},
                      stream, p);
}

}  // namespace paged
