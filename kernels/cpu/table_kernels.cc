#include "kernels/cpu/table_kernels.h"

#include <algorithm>

namespace paged {

void RunTableUpdate(const TableUpdateParams& p) {
  for (int i = 0; i < p.num_entries; ++i) {
    p.table[p.staged_entries[i].index] = p.staged_entries[i].block;
  }
  if (p.num_rows < 0) return;
  for (int i = 0; i < p.batch; ++i) {
    const bool is_live = i < p.num_rows;
    p.rows[i] = is_live ? p.staged_rows[i] : BatchRow{};
    p.rings[i] =
        is_live && p.staged_rings != nullptr ? p.staged_rings[i] : RingRow{};
  }
}

void RunBatchTable(const BatchTableParams& p) {
  int32_t begin = 0;
  for (int row = 0; row < p.batch; ++row) {
    const int columns = ColumnsOf(p.rows[row], p.block_size);
    int32_t* dense = p.batch_table + int64_t{row} * p.batch_width;
    for (int i = 0; i < columns; ++i) {
      p.indices[begin + i] = dense[i] = ListedBlock(p, row, i);
    }
    std::fill(dense + columns, dense + p.batch_width, 0);
    for (int i = 0; i < p.max_new_tokens; ++i) {
      p.slot_mapping[int64_t{row} * p.max_new_tokens + i] =
          SlotOfNewToken(p, row, i);
    }
    p.context_lens[row] = p.rows[row].context_len;
    p.last_block_lens[row] = LastBlockLen(p.rows[row], p.block_size);
    p.indptr[row] = begin;
    begin += columns;
  }
  p.indptr[p.batch] = begin;
}

void RunFillTable(const TableFillParams& p) {
  for (int seq = 0; seq < p.num_seqs; ++seq) {
    const SourceRow row = SourceRowOf(p, seq);
    if (p.width > 0) {
      int32_t* to = p.block_tables + seq * p.row_stride;
      std::copy_n(row.blocks, row.num_columns, to);
      std::fill(to + row.num_columns, to + p.width, 0);
    }
    p.context_lens[seq] = row.context_len;
    if (p.cuts != nullptr) p.cuts[seq] = row.cuts;
  }
}

}  // namespace paged
