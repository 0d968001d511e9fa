// Which tiles of a sequence an item reads, and what each of its rows sees of
// them. Kernels without masks and score modifiers need none of it.
#ifndef PAGED_KERNELS_CORE_VISIBILITY_H_
#define PAGED_KERNELS_CORE_VISIBILITY_H_

#include <cstdint>

#include "kernels/core/host_device.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/core/score_rules.h"

namespace paged {

// Position of a query token: the last one is the newest token of the context.
PAGED_HD inline int PositionOf(int context_len, int q_len, int token) {
  return context_len - q_len + token;
}

// The tiles that hold visible tokens: `sink_tiles` from the first on, then
// those behind `skipped_tiles` more.
struct VisibleTiles {
  int num_tiles;
  int sink_tiles;
  int skipped_tiles;
};

PAGED_HD inline VisibleTiles VisibleTilesOf(const VisibleTokens& visible) {
  const int first_tile = visible.begin / kTileTokens;
  const int sink_tiles = NumTiles(visible.sink_end);
  // A tile of both kinds is read once.
  const int before = sink_tiles < first_tile ? sink_tiles : first_tile;
  const int skipped = first_tile - before;
  return {NumTiles(visible.end) - skipped, before, skipped};
}

// Narrows an item, from any partition, to what its rows may see. From here on
// `first_tile` and `last_tile` count visible tiles.
PAGED_HD inline void NarrowToVisible(const DecodeParams& p, WorkItem& item) {
  item.q_len = QueryTokensOf(p, item.table_row).q_len;
  const int rows_left = item.q_len * p.group - item.first_row;
  if (rows_left < item.num_rows) item.num_rows = rows_left;
  if (item.num_rows <= 0) {
    item.num_rows = item.last_tile = 0;
    return;
  }
  const int last_row = item.first_row + item.num_rows - 1;
  // Masks of a tree may show any query token to any other.
  const int last_token = p.tree_masks == nullptr
                             ? (p.q_len == 1 ? 0 : last_row / p.group)
                             : item.q_len - 1;
  item.visible = VisibleTokensOfAny(
      p.rules,
      PositionOf(item.context_len, item.q_len,
                 p.q_len == 1 ? 0 : item.first_row / p.group),
      PositionOf(item.context_len, item.q_len, last_token));
  const VisibleTiles tiles = VisibleTilesOf(item.visible);
  item.sink_tiles = tiles.sink_tiles;
  item.skipped_tiles = tiles.skipped_tiles;
  if (tiles.num_tiles < item.last_tile) item.last_tile = tiles.num_tiles;
}

// The tile of the sequence that a narrowed item's tile is.
PAGED_HD inline int SequenceTile(const WorkItem& item, int tile) {
  return tile < item.sink_tiles ? tile : tile + item.skipped_tiles;
}

// What one row sees, and what is added to its scores.
struct RowRules {
  VisibleTokens visible;
  int position;       // of its query token
  float slope_log2;   // per token of distance
  const float* bias;  // by position, natural units; or null
  // Bit j: whether the row sees position tree_begin + j, if it is not behind
  // what is visible.
  uint32_t tree_mask;
  int tree_begin;
};

PAGED_HD inline RowRules RowRulesOf(const DecodeParams& p, const WorkItem& item,
                                    int kv_head, int row) {
  const RowPlace place = RowPlaceOf(p, kv_head, row);
  const int position = PositionOf(item.context_len, item.q_len, place.token);
  const ScoreRules& rules = p.rules;
  VisibleTokens visible = VisibleTokensAt(rules, position);
  uint32_t tree_mask = 0;
  int tree_begin = item.context_len;
  if (p.tree_masks != nullptr) {
    const int64_t first = QueryTokensOf(p, item.table_row).first;
    tree_mask = p.tree_masks[first + place.token];
    tree_begin = item.context_len - item.q_len;
    visible = {0, item.context_len, 0};
  }
  return {
      visible,
      position,
      rules.alibi_slopes == nullptr ? 0.0f
                                    : rules.alibi_slopes[place.q_head] * kLog2E,
      rules.bias == nullptr ? nullptr
                            : rules.bias + item.table_row * rules.bias_stride,
      tree_mask,
      tree_begin};
}

// Whether the row sees the token at `position`.
PAGED_HD inline bool Sees(const RowRules& row, int position) {
  if (!Sees(row.visible, position)) return false;
  return position < row.tree_begin ||
         (row.tree_mask >> (position - row.tree_begin) & 1u) != 0;
}

// The score of a token that it sees.
PAGED_HD inline float ModifiedScore(const ScoreRules& rules,
                                    const RowRules& row, int position,
                                    float score_log2) {
  return ModifiedScore(
      rules, score_log2, row.slope_log2, position - row.position,
      row.bias == nullptr ? 0.0f : row.bias[position] * kLog2E);
}

// The score that the row's softmax takes for the token at `position`: minus
// infinity for one that it does not see.
PAGED_HD inline float RuledScore(const ScoreRules& rules, const RowRules& row,
                                 int position, float score_log2) {
  return Sees(row, position) ? ModifiedScore(rules, row, position, score_log2)
                             : -INFINITY;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_VISIBILITY_H_
