// The walk of the second pass, which the scalar and the vector kernels share:
// they differ in how they store a row.
#ifndef PAGED_KERNELS_CPU_REDUCE_ROWS_H_
#define PAGED_KERNELS_CPU_REDUCE_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/decode_kernels.h"
#include "kernels/cpu/thread_pool.h"

namespace paged {

// Merges the partials of every row in split order, and calls
// `store(seq, kv_head, row, state, values)`, on any thread.
template <typename Store>
void ReduceRows(const DecodeParams& p, ThreadPool& pool, const Store& store) {
  pool.ParallelFor(NumItems(p) * p.num_kv_heads, [&](int64_t program) {
    thread_local std::vector<float> values;
    const int kv_head = static_cast<int>(program % p.num_kv_heads);
    const int64_t item = program / p.num_kv_heads;
    const int seq = static_cast<int>(item / p.num_row_tiles);
    const int row_tile = static_cast<int>(item % p.num_row_tiles);
    const int64_t partial = FirstPartial(p, seq, row_tile);
    const int64_t stride = PartialRow(p, partial + 1, kv_head, 0) -
                           PartialRow(p, partial, kv_head, 0);
    const int first_row = row_tile * p.rows_per_item;
    const int rows_of_seq = QueryTokensOf(p, seq).q_len * p.group;
    const int num_rows = std::min(p.rows_per_item, rows_of_seq - first_row);
    for (int r = 0; r < num_rows; ++r) {
      const SoftmaxState state =
          ReduceRow(p, PartialRow(p, partial, kv_head, r), stride, values);
      store(seq, kv_head, first_row + r, state, values.data());
    }
  });
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_REDUCE_ROWS_H_
