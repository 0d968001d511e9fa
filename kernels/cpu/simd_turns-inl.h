// The order in which the tiles of an item are read, and where their tokens lie.
#if defined(PAGED_KERNELS_CPU_SIMD_TURNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_TURNS_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_TURNS_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_TURNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cpu/simd_ops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

inline constexpr int kMaxTilesPerTurn = 8;

// Tiles of single heads between a fetch and its use: 64 KB of fp16 at head_dim
// 128. Of 4, 8, 16 and 32, on a Zen 4 core, 32 loses 5 to 10 % and the others
// are within noise of each other.
inline constexpr int kTilesAhead = 8;

// Where one tile's tokens lie, for kv head 0: those that some row of the item
// sees. Past `num_tokens` the last of them is repeated: nothing else is read.
template <typename Kv>
struct Tile {
  int num_tokens;
  // Left alone where the plan has no rules.
  int positions[kTileTokens];
  int64_t blocks[kTileTokens];
  int slots[kTileTokens];
  const Kv* keys[kTileTokens];
  const Kv* values[kTileTokens];
};

template <typename Kv>
HWY_INLINE void FindRuledTile(const DecodeParams& p, const WorkItem& item,
                              int tile_idx, Tile<Kv>& tile) {
  const int first = SequenceTile(item, tile_idx) * kTileTokens;
  const int end = std::min(first + kTileTokens, item.visible.end);
  const int32_t* table = p.block_tables + item.table_row * p.block_table_stride;
  int64_t block = 0;
  const Kv* block_keys = nullptr;  // slot 0 of the block at hand
  const Kv* block_values = nullptr;
  SlotPlace place = PlaceOf(first, p.block_size);
  tile.num_tokens = 0;
  for (int position = first; position < end; ++position, ++place.slot) {
    if (place.slot == p.block_size) {
      place = {place.logical_block + 1, 0};
      block_keys = nullptr;
    }
    if (!Sees(item.visible, position)) continue;
    if (block_keys == nullptr) {
      block = table[place.logical_block];
      block_keys =
          static_cast<const Kv*>(p.key.data) + OffsetOf(p.key, block, 0, 0);
      block_values =
          static_cast<const Kv*>(p.value.data) + OffsetOf(p.value, block, 0, 0);
    }
    const int t = tile.num_tokens++;
    tile.positions[t] = position;
    tile.blocks[t] = block;
    tile.slots[t] = place.slot;
    tile.keys[t] = block_keys + place.slot * p.key.slot_stride;
    tile.values[t] = block_values + place.slot * p.value.slot_stride;
  }
}

// Without rules every token of the tile is seen, and nobody asks where it is.
template <typename Kv>
HWY_INLINE void FindPlainTile(const DecodeParams& p, const WorkItem& item,
                              int tile_idx, Tile<Kv>& tile) {
  const int first = tile_idx * kTileTokens;
  const int num_tokens = std::min(kTileTokens, item.context_len - first);
  const int32_t* table = p.block_tables + item.table_row * p.block_table_stride;
  SlotPlace place = PlaceOf(first, p.block_size);
  tile.num_tokens = num_tokens;
  for (int t = 0; t < num_tokens; place = {place.logical_block + 1, 0}) {
    const int64_t block = table[place.logical_block];
    const Kv* key = static_cast<const Kv*>(p.key.data) +
                    OffsetOf(p.key, block, place.slot, 0);
    const Kv* value = static_cast<const Kv*>(p.value.data) +
                      OffsetOf(p.value, block, place.slot, 0);
    const int end = std::min(num_tokens, t + p.block_size - place.slot);
    for (; t < end; ++t) {
      tile.keys[t] = key;
      tile.values[t] = value;
      key += p.key.slot_stride;
      value += p.value.slot_stride;
    }
  }
}

template <typename Kv>
HWY_INLINE void FindTile(const DecodeParams& p, const WorkItem& item,
                         int tile_idx, Tile<Kv>& tile) {
  if (IsGeneral(p)) {
    FindRuledTile(p, item, tile_idx, tile);
  } else {
    FindPlainTile(p, item, tile_idx, tile);
  }
  for (int t = tile.num_tokens; t < kTileTokens; ++t) {
    tile.keys[t] = tile.keys[tile.num_tokens - 1];
    tile.values[t] = tile.values[tile.num_tokens - 1];
  }
}

// A tile of one kv head.
template <typename Kv>
struct HeadTile {
  const Tile<Kv>* tile;  // null: none
  int head;              // of the scratch
};

// Tiles that a head takes before it is the next head's turn: those of a block
// where the block holds a head's tokens side by side, so that memory is read in
// its own order, and enough to look kTilesAhead forward.
inline int TilesPerTurn(const DecodeParams& p, int num_heads) {
  const bool is_head_major = p.key.head_stride > p.key.slot_stride;
  const int in_block = is_head_major ? p.block_size / kTileTokens : 1;
  return std::clamp(std::max(in_block, kTilesAhead / num_heads), 1,
                    kMaxTilesPerTurn);
}

// The tiles of one turn, for every head.
template <typename Kv>
struct Turn {
  int count = 0;
  Tile<Kv> tiles[kMaxTilesPerTurn];
};

// Walks the tiles of a turn in the order in which they are attended, and of
// `then` after them, unless it is null.
template <typename Kv>
class TurnCursor {
 public:
  TurnCursor(const Turn<Kv>& turn, const Turn<Kv>* then, int num_heads)
      : turn_(&turn), then_(then), num_heads_(num_heads) {}

  bool is_done() const { return turn_->count == 0 || head_ == num_heads_; }
  HeadTile<Kv> get() const {
    if (is_done()) return {nullptr, 0};
    return {&turn_->tiles[tile_], head_};
  }
  void Step() {
    if (is_done() || ++tile_ < turn_->count) return;
    tile_ = 0;
    if (++head_ < num_heads_ || then_ == nullptr) return;
    turn_ = then_;
    then_ = nullptr;
    head_ = 0;
  }

 private:
  const Turn<Kv>* turn_;
  const Turn<Kv>* then_;
  int num_heads_;
  int tile_ = 0;
  int head_ = 0;
};

template <typename Kv>
void FindTurn(const DecodeParams& p, const WorkItem& item, int first_tile,
              int max_tiles, Turn<Kv>& turn) {
  turn.count = 0;
  for (int tile = first_tile; tile < item.last_tile && turn.count < max_tiles;
       tile += item.tile_step) {
    FindTile(p, item, tile, turn.tiles[turn.count++]);
  }
}

inline constexpr int64_t kLineBytes = 64;

// One tile of one kv head: rows of its tokens, and of those to fetch meanwhile.
// Past `num_tokens` the last token is repeated.
template <typename Kv>
struct TokenRows {
  int num_tokens;
  const Kv* const* rows;  // [kTileTokens]
  int64_t head_offset;    // elements from a token's row to the head's
  const Kv* const* next;  // [kTileTokens], or null
  int64_t next_offset;    // of the head to fetch
  int dim;
};

template <typename Kv>
HWY_INLINE void FetchRow(const TokenRows<Kv>& tokens, int token) {
  const Kv* row = tokens.next[token] + tokens.next_offset;
  const int64_t bytes = tokens.dim * static_cast<int64_t>(sizeof(Kv));
  const char* from = reinterpret_cast<const char*>(row);
  int64_t at = 0;
  // A row of head_dim 128 is 4 lines: the loop would cost as much as they do.
  for (; at + 4 * kLineBytes <= bytes; at += 4 * kLineBytes) {
    HWY_UNROLL(4)
    for (int line = 0; line < 4; ++line) {
      FetchLine(from + at + line * kLineBytes);
    }
  }
  for (; at < bytes; at += kLineBytes) FetchLine(from + at);
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_TURNS_INL_H_
