// The block table of a batch from what other libraries keep: indices one after
// another (CSR), or a list of blocks for each sequence.
#ifndef PAGED_KERNELS_CORE_TABLE_FILL_H_
#define PAGED_KERNELS_CORE_TABLE_FILL_H_

#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// What of a sequence was cut to what is legal; bits of one number.
enum TableCut : uint32_t {
  kCutIndices = 1,      // indptr is descending, or leaves [0, num_indices]
  kCutLastBlock = 2,    // last_block_lens is not in 1..block_size
  kCutContextLen = 4,   // longer than the capacity, or negative
  kCutMissingList = 8,  // a null list of a sequence with tokens
};

// Exactly one of `indptr` and `block_lists` is there. All pointers are of the
// device's memory.
struct TableFillParams {
  const int32_t* indptr = nullptr;           // [num_seqs + 1]
  const int32_t* indices = nullptr;          // [num_indices]
  const int32_t* last_block_lens = nullptr;  // [num_seqs]
  int64_t num_indices = 0;

  const int32_t* const* block_lists = nullptr;  // [num_seqs]
  const int32_t* lens = nullptr;                // [num_seqs], tokens

  int num_seqs = 0;
  int block_size = 0;
  int width = 0;  // columns of the table
  int max_context_len = 0;
  int64_t row_stride = 0;           // of the table
  int32_t* block_tables = nullptr;  // [num_seqs, width]
  int32_t* context_lens = nullptr;  // [num_seqs]
  uint32_t* cuts = nullptr;         // [num_seqs], or null
};

// A sequence, cut to what is legal.
struct SourceRow {
  const int32_t* blocks = nullptr;
  int num_columns = 0;
  int context_len = 0;
  uint32_t cuts = 0;
};

PAGED_HD inline int64_t ClampTo(int64_t value, int64_t least, int64_t most) {
  return value < least ? least : value < most ? value : most;
}

PAGED_HD inline SourceRow SourceRowOf(const TableFillParams& p, int64_t seq) {
  SourceRow row;
  int64_t len = 0;
  if (p.indptr != nullptr) {
    const int64_t begin = ClampTo(p.indptr[seq], 0, p.num_indices);
    const int64_t end = ClampTo(p.indptr[seq + 1], begin, p.num_indices);
    if (begin != p.indptr[seq] || end != p.indptr[seq + 1]) {
      row.cuts |= kCutIndices;
    }
    row.blocks = p.indices + begin;
    if (end > begin) {
      const int64_t last = ClampTo(p.last_block_lens[seq], 1, p.block_size);
      if (last != p.last_block_lens[seq]) row.cuts |= kCutLastBlock;
      len = (end - begin - 1) * p.block_size + last;
    }
  } else {
    row.blocks = p.block_lists[seq];
    len = p.lens[seq];
    if (row.blocks == nullptr && len > 0) {
      row.cuts |= kCutMissingList;
      len = 0;
    }
  }
  row.context_len = static_cast<int>(ClampTo(len, 0, p.max_context_len));
  if (row.context_len != len) row.cuts |= kCutContextLen;
  row.num_columns = static_cast<int>(
      (int64_t{row.context_len} + p.block_size - 1) / p.block_size);
  return row;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_TABLE_FILL_H_
