// How a batch is cut into work items.
//
// A program (a CTA, or a CPU thread's turn) handles one item of one kv head:
// some rows of one sequence against some of its tiles. v1 gives it all of them,
// split_k every num_splits-th or, of a ragged batch, those of a chunk; the loop
// that runs an item knows none of them.
#ifndef PAGED_KERNELS_CORE_PARTITION_H_
#define PAGED_KERNELS_CORE_PARTITION_H_

#include <cstdint>

#include "kernels/core/chunk.h"
#include "kernels/core/host_device.h"
#include "kernels/core/kernel_params.h"

namespace paged {

// Tokens that a warp, or a CPU kernel, handles at once: the K extent of
// mma.m16n8k16 in the product with V.
inline constexpr int kTileTokens = 16;

// Rows that a CPU kernel, or one product of the tensor cores, takes at once:
// the M extent of mma.m16n8k16.
inline constexpr int kMmaRows = 16;

struct WorkItem {
  int table_row;    // sequence
  int context_len;  // its tokens
  int first_row;    // rows [first_row, first_row + num_rows) of a kv head
  int num_rows;
  // Tiles first_tile, first_tile + tile_step, ... below last_tile.
  int first_tile;
  int last_tile;
  int tile_step;
  bool is_whole;    // these are all tiles of the sequence
  int64_t partial;  // where a split or a chunk leaves its result

  // Of a narrowed item (visibility.h).
  int q_len = 1;
  VisibleTokens visible = {};
  int sink_tiles = 0;
  int skipped_tiles = 0;
};

PAGED_HD constexpr int NumTiles(int context_len) {
  return context_len / kTileTokens + (context_len % kTileTokens != 0);
}

// A length from the device, made safe: no capacity is ever exceeded.
PAGED_HD constexpr int ClampContextLen(int context_len, int max_context_len) {
  if (context_len < 0) return 0;
  return context_len < max_context_len ? context_len : max_context_len;
}

PAGED_HD inline int ClampContextLen(const DecodeParams& p, int context_len) {
  return ClampContextLen(context_len, p.max_context_len);
}

// (sequence, row tile) pairs; each is split num_splits times.
PAGED_HD inline int64_t NumItems(const DecodeParams& p) {
  return int64_t{p.num_seqs} * p.num_row_tiles;
}

// The partials of one (sequence, row tile): neighbours, in the order of its
// splits or chunks.
struct PartialRange {
  int64_t first;
  int count;
};

PAGED_HD inline PartialRange SplitPartials(const DecodeParams& p,
                                           int64_t item) {
  return {item * p.num_splits, p.num_splits};
}

PAGED_HD inline PartialRange ChunkPartials(const DecodeParams& p,
                                           const Chunk& chunk, int row_tile) {
  return {int64_t{chunk.first_partial} * p.num_row_tiles +
              int64_t{chunk.num_chunks} * row_tile,
          chunk.num_chunks};
}

// Which rows of which sequence an index stands for. A plan has at most 2^31 - 1
// programs (the grid's limit), and 32-bit division is what the start of a
// kernel can afford. Row tiles of the same tokens are neighbours, so that they
// share the cache.
struct RowTile {
  uint32_t rest;  // index / num_row_tiles
  int row_tile;
  int first_row;
  int num_rows;
};

PAGED_HD inline RowTile RowTileAt(const DecodeParams& p, int64_t item) {
  const uint32_t index = static_cast<uint32_t>(item);
  if (p.num_row_tiles == 1) return {index, 0, 0, NumRows(p)};
  const uint32_t num_row_tiles = static_cast<uint32_t>(p.num_row_tiles);
  const uint32_t rest = index / num_row_tiles;
  const int row_tile = static_cast<int>(index - rest * num_row_tiles);
  const int first_row = row_tile * p.rows_per_item;
  const int rows_left = NumRows(p) - first_row;
  return {rest, row_tile, first_row,
          rows_left < p.rows_per_item ? rows_left : p.rows_per_item};
}

// Item `item` of the partition `whole`. Its first tile is known before the
// length is: a kernel can start on the block table at once.
PAGED_HD inline WorkItem WholeItemAt(const DecodeParams& p, int64_t item) {
  const RowTile rows = RowTileAt(p, item);
  const int seq = static_cast<int>(rows.rest);
  const int context_len = ClampContextLen(p, p.context_lens[seq]);
  return {.table_row = seq,
          .context_len = context_len,
          .first_row = rows.first_row,
          .num_rows = rows.num_rows,
          .first_tile = 0,
          .last_tile = NumTiles(context_len),
          .tile_step = 1,
          .is_whole = true,
          .partial = 0};
}

// Split `split` of item `item`, of the partition `splits`. Tiles are dealt to
// the splits in turn: the shares differ by at most one tile, some are empty
// when there are more splits than tiles, and where a split starts does not
// depend on the length, which takes one load out of the chain before its first
// tile.
PAGED_HD inline WorkItem SplitItemAt(const DecodeParams& p, int64_t item,
                                     int split) {
  WorkItem work = WholeItemAt(p, item);
  work.first_tile = split;
  work.tile_step = p.num_splits;
  work.is_whole = p.num_splits == 1;
  work.partial = SplitPartials(p, item).first + split;
  return work;
}

// The rows `rows` against a chunk.
PAGED_HD inline WorkItem ChunkItem(const DecodeParams& p, const Chunk& chunk,
                                   const RowTile& rows) {
  return {.table_row = chunk.seq,
          .context_len = chunk.context_len,
          .first_row = rows.first_row,
          .num_rows = rows.num_rows,
          .first_tile = chunk.first_tile,
          .last_tile = chunk.last_tile,
          .tile_step = 1,
          .is_whole = chunk.num_chunks == 1,
          .partial = ChunkPartials(p, chunk, rows.row_tile).first + chunk.rank};
}

// (chunk, row tile) pairs of the schedule that was made.
PAGED_HD inline int64_t NumChunkItems(const DecodeParams& p) {
  return int64_t{p.schedule.header->num_chunks} * p.num_row_tiles;
}

// Item `item` of the partition `chunks`.
PAGED_HD inline WorkItem ChunkItemAt(const DecodeParams& p, int64_t item) {
  const RowTile rows = RowTileAt(p, item);
  return ChunkItem(p, p.schedule.chunks[rows.rest], rows);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_PARTITION_H_
