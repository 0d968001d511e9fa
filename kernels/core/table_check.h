// What a kernel would follow into memory that is not the pool's: the checks of
// lengths and block tables, which live on the device.
#ifndef PAGED_KERNELS_CORE_TABLE_CHECK_H_
#define PAGED_KERNELS_CORE_TABLE_CHECK_H_

#include <cstdint>

#include "kernels/core/host_device.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"

namespace paged {

enum class TableFaultKind : uint8_t {
  kNone,
  kContextLen,   // context_lens[row] is not in 0..max_context_len
  kQueryTokens,  // query_offsets[row + 1] - query_offsets[row], not in 0..q_len
  kQueryStart,   // query_offsets[row] is negative
  kBlock,        // block_tables[row][column] is not in 0..num_blocks - 1
};

struct TableFault {
  TableFaultKind kind = TableFaultKind::kNone;
  int64_t row = 0;
  int column = 0;
  int64_t value = 0;
};

PAGED_HD inline bool OverlapsVisible(const VisibleTokens& visible, int begin,
                                     int end) {
  return begin < visible.sink_end ||
         (begin < visible.end && visible.begin < end);
}

// The first fault of a sequence; entries of blocks without a visible token are
// nobody's.
PAGED_HD inline TableFault FirstTableFault(const DecodeParams& p,
                                           int64_t num_blocks, int64_t seq) {
  const int context_len = p.context_lens[seq];
  if (context_len < 0 || context_len > p.max_context_len) {
    return {TableFaultKind::kContextLen, seq, 0, context_len};
  }
  if (p.query_offsets != nullptr) {
    const int64_t first = p.query_offsets[seq];
    const int64_t q_len = p.query_offsets[seq + 1] - first;
    if (first < 0) return {TableFaultKind::kQueryStart, seq, 0, first};
    if (q_len < 0 || q_len > p.q_len) {
      return {TableFaultKind::kQueryTokens, seq, 0, q_len};
    }
  }
  WorkItem item{.table_row = static_cast<int>(seq),
                .context_len = context_len,
                .first_row = 0,
                .num_rows = NumRows(p),
                .first_tile = 0,
                .last_tile = NumTiles(context_len),
                .tile_step = 1,
                .is_whole = true,
                .partial = 0};
  NarrowToVisible(p, item);
  const int32_t* table = p.block_tables + seq * p.block_table_stride;
  for (int begin = 0, column = 0; begin < context_len; ++column) {
    const int left = context_len - begin;
    const int end = begin + (left < p.block_size ? left : p.block_size);
    if (OverlapsVisible(item.visible, begin, end) &&
        (table[column] < 0 || table[column] >= num_blocks)) {
      return {TableFaultKind::kBlock, seq, column, table[column]};
    }
    begin = end;
  }
  return {};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_TABLE_CHECK_H_
