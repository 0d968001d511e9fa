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
#include "kernels/cpu/program_trace.h"
#include "kernels/cpu/thread_pool.h"

namespace paged {

// Merges the partials `parts` of the rows `rows` of one (sequence, kv head), in
// order, and calls `store(seq, kv_head, row, state, values)`.
template <typename Store>
void ReducePartials(const DecodeParams& p, PartialRange parts,
                    const RowTile& rows, int seq, int kv_head,
                    const Store& store) {
  const ProgramTimer timer;
  thread_local std::vector<float> values;
  const int rows_of_seq = QueryTokensOf(p, seq).q_len * p.group;
  const int num_rows = std::min(rows.num_rows, rows_of_seq - rows.first_row);
  for (int r = 0; r < num_rows; ++r) {
    const SoftmaxState state = ReduceRow(p, parts, kv_head, r, values);
    store(seq, kv_head, rows.first_row + r, state, values.data());
  }
  timer.Report(ProgramKind::kReduce, seq, parts.first, kv_head, 1);
}

// Every row of the partition `splits`, on any thread.
template <typename Store>
void ReduceSplitRows(const DecodeParams& p, ThreadPool& pool,
                     const Store& store) {
  pool.ParallelFor(NumItems(p) * p.num_kv_heads, [&](int64_t program) {
    const int64_t item = program / p.num_kv_heads;
    const RowTile rows = RowTileAt(p, item);
    ReducePartials(p, SplitPartials(p, item), rows, static_cast<int>(rows.rest),
                   static_cast<int>(program % p.num_kv_heads), store);
  });
}

// Every row of the sequences that the partition `chunks` has cut.
template <typename Store>
void ReduceChunkRows(const DecodeParams& p, ThreadPool& pool,
                     const Store& store) {
  if (p.schedule.header->num_partials == 0) return;
  pool.ParallelFor(NumChunkItems(p) * p.num_kv_heads, [&](int64_t program) {
    const RowTile rows = RowTileAt(p, program / p.num_kv_heads);
    const Chunk& chunk = p.schedule.chunks[rows.rest];
    // The first chunk stands for its sequence.
    if (chunk.num_chunks == 1 || chunk.rank != 0) return;
    ReducePartials(p, ChunkPartials(p, chunk, rows.row_tile), rows, chunk.seq,
                   static_cast<int>(program % p.num_kv_heads), store);
  });
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_REDUCE_ROWS_H_
