// What keeps the block table on the device, on the CPU and on the GPU alike.
//
// The table [max_seqs, width] lies in the device's memory; a step scatters its
// changed entries into it, and gathers from it what one batch's decode reads.
#ifndef PAGED_KERNELS_CORE_TABLE_PARAMS_H_
#define PAGED_KERNELS_CORE_TABLE_PARAMS_H_

#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

struct TableEntry {
  uint32_t index = 0;  // row * width + column
  int32_t block = 0;
};

// A sequence of the batch. `row` is -1 for padding.
struct BatchRow {
  int32_t row = -1;
  int32_t context_len = 0;
  int32_t num_new_tokens = 0;  // the last ones: those that this step writes
};

// The order in which the columns of a stream's row are read: `num_sinks`, and
// then those of a ring, from `first` on. A ring of 0 columns is no ring.
struct RingRow {
  int32_t num_sinks = 0;
  int32_t ring = 0;
  int32_t first = 0;
};

// All pointers but the first three are of the device's memory; those are of a
// staging buffer, which the device can read.
struct TableUpdateParams {
  const TableEntry* staged_entries = nullptr;
  const BatchRow* staged_rows = nullptr;  // [num_rows]
  const RingRow* staged_rings = nullptr;  // [num_rows]; null: no streams
  int32_t* table = nullptr;               // [max_seqs, width]
  BatchRow* rows = nullptr;               // [batch]; the rest become padding
  RingRow* rings = nullptr;               // [batch]
  int num_entries = 0;
  int num_rows = -1;  // -1: entries alone
  int batch = 0;
};

struct BatchTableParams {
  const int32_t* table = nullptr;  // [max_seqs, width]
  const BatchRow* rows = nullptr;  // [batch]
  const RingRow* rings = nullptr;  // [batch]
  int width = 0;
  int batch = 0;
  int block_size = 0;
  int max_new_tokens = 0;

  int batch_width = 0;
  int32_t* batch_table = nullptr;      // [batch, batch_width]
  int32_t* context_lens = nullptr;     // [batch]
  int64_t* slot_mapping = nullptr;     // [batch, max_new_tokens]
  int32_t* indptr = nullptr;           // [batch + 1]
  int32_t* indices = nullptr;          // [batch * batch_width]
  int32_t* last_block_lens = nullptr;  // [batch]
};

PAGED_HD inline int ColumnsOf(const BatchRow& row, int block_size) {
  return row.row < 0 ? 0 : (row.context_len + block_size - 1) / block_size;
}

PAGED_HD inline int LastBlockLen(const BatchRow& row, int block_size) {
  return row.context_len == 0 ? 0 : (row.context_len - 1) % block_size + 1;
}

// The column of the row that is the index-th to be read.
PAGED_HD inline int ListedColumn(const RingRow& ring, int index) {
  if (ring.ring == 0 || index < ring.num_sinks) return index;
  return ring.num_sinks + (ring.first + index - ring.num_sinks) % ring.ring;
}

// Block of the index-th column that is read of a batch's row.
PAGED_HD inline int32_t ListedBlock(const BatchTableParams& p, int batch_row,
                                    int index) {
  return p.table[int64_t{p.rows[batch_row].row} * p.width +
                 ListedColumn(p.rings[batch_row], index)];
}

// Slot of the token that column `index` of the slot mapping is for, -1 for
// none: new tokens are at the right end.
PAGED_HD inline int64_t SlotOfNewToken(const BatchTableParams& p, int batch_row,
                                       int index) {
  const BatchRow& row = p.rows[batch_row];
  const int from_end = p.max_new_tokens - index;
  if (row.row < 0 || from_end > row.num_new_tokens ||
      from_end > row.context_len) {
    return -1;
  }
  const int position = row.context_len - from_end;
  const int32_t block = ListedBlock(p, batch_row, position / p.block_size);
  if (block == 0) return -1;
  return int64_t{block} * p.block_size + position % p.block_size;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_TABLE_PARAMS_H_
