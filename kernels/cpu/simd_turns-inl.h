// The order in which the tiles of an item are read, and where their tokens lie:
// steps of some tiles, and turns of some steps of each head.
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
#include "kernels/cpu/spans.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// Tokens that are attended at once: those of two of the item's tiles, as scores
// become weights by a chain of operations that takes no longer for them than
// for one tile's.
inline constexpr int kTilesPerStep = 2;
inline constexpr int kStepTokens = kTilesPerStep * kTileTokens;

inline constexpr int kMaxStepsPerTurn = 8;

// Steps of single heads between a fetch and its use: 64 KB of fp16 at head_dim
// 128. On a Zen 4 core twice as many are within noise of these, four times as
// many lose 5 to 10 %.
inline constexpr int kStepsAhead = 4;

// Where the tokens of a step lie, for kv head 0: those that some row of the
// item sees. Past `num_tokens` the last of them is repeated: nothing else is
// read.
template <typename Kv>
struct Step {
  int num_tokens;
  bool ends_span;
  // Left alone where the plan has no rules.
  int positions[kStepTokens];
  int64_t blocks[kStepTokens];
  int slots[kStepTokens];
  const Kv* keys[kStepTokens];
  const Kv* values[kStepTokens];
};

template <typename Kv>
HWY_INLINE void AppendRuledTile(const DecodeParams& p, const WorkItem& item,
                                int tile_idx, Step<Kv>& step) {
  const int first = SequenceTile(item, tile_idx) * kTileTokens;
  const int end = std::min(first + kTileTokens, item.visible.end);
  const int32_t* table = p.block_tables + item.table_row * p.block_table_stride;
  int64_t block = 0;
  const Kv* block_keys = nullptr;  // slot 0 of the block at hand
  const Kv* block_values = nullptr;
  SlotPlace place = PlaceOf(first, p.block_size);
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
    const int t = step.num_tokens++;
    step.positions[t] = position;
    step.blocks[t] = block;
    step.slots[t] = place.slot;
    step.keys[t] = block_keys + place.slot * p.key.slot_stride;
    step.values[t] = block_values + place.slot * p.value.slot_stride;
  }
}

// Without rules every token of the tile is seen, and nobody asks where it is.
template <typename Kv>
HWY_INLINE void AppendPlainTile(const DecodeParams& p, const WorkItem& item,
                                int tile_idx, Step<Kv>& step) {
  const int first = tile_idx * kTileTokens;
  const int num_tokens = std::min(kTileTokens, item.context_len - first);
  const int32_t* table = p.block_tables + item.table_row * p.block_table_stride;
  SlotPlace place = PlaceOf(first, p.block_size);
  int t = step.num_tokens;
  step.num_tokens += num_tokens;
  for (; t < step.num_tokens; place = {place.logical_block + 1, 0}) {
    const int64_t block = table[place.logical_block];
    const Kv* key = static_cast<const Kv*>(p.key.data) +
                    OffsetOf(p.key, block, place.slot, 0);
    const Kv* value = static_cast<const Kv*>(p.value.data) +
                      OffsetOf(p.value, block, place.slot, 0);
    const int end = std::min(step.num_tokens, t + p.block_size - place.slot);
    for (; t < end; ++t) {
      step.keys[t] = key;
      step.values[t] = value;
      key += p.key.slot_stride;
      value += p.value.slot_stride;
    }
  }
}

// The step that begins with tile `tile_idx`, which moves behind it.
template <typename Kv>
HWY_INLINE void FindStep(const DecodeParams& p, const WorkItem& item,
                         int& tile_idx, Step<Kv>& step) {
  step.num_tokens = 0;
  for (int i = 0; i < kTilesPerStep && tile_idx < item.last_tile; ++i) {
    if (IsGeneral(p)) {
      AppendRuledTile(p, item, tile_idx, step);
    } else {
      AppendPlainTile(p, item, tile_idx, step);
    }
    tile_idx += item.tile_step;
  }
  step.ends_span = EndsSpan(item, tile_idx);
  for (int t = step.num_tokens; t < kStepTokens; ++t) {
    step.keys[t] = step.keys[step.num_tokens - 1];
    step.values[t] = step.values[step.num_tokens - 1];
  }
}

// A step of one kv head.
template <typename Kv>
struct HeadStep {
  const Step<Kv>* step;  // null: none
  int head;              // of the scratch
};

// Whether a block holds a head's tokens side by side, and not a token's heads.
inline bool IsHeadMajor(const DecodeParams& p) {
  return p.key.head_stride > p.key.slot_stride;
}

// Steps that a head takes before it is the next head's turn: those of a block
// where the block holds a head's tokens side by side, so that memory is read in
// its own order, and enough to look kStepsAhead forward.
inline int StepsPerTurn(const DecodeParams& p, int num_heads) {
  const int in_block = IsHeadMajor(p) ? p.block_size / kStepTokens : 1;
  return std::clamp(std::max(in_block, kStepsAhead / num_heads), 1,
                    kMaxStepsPerTurn);
}

// The steps of one turn, for every head.
template <typename Kv>
struct Turn {
  int count = 0;
  Step<Kv> steps[kMaxStepsPerTurn];
};

// Walks the steps of a turn in the order in which they are attended, and of
// `then` after them, unless it is null.
template <typename Kv>
class TurnCursor {
 public:
  TurnCursor(const Turn<Kv>& turn, const Turn<Kv>* then, int num_heads)
      : turn_(&turn), then_(then), num_heads_(num_heads) {}

  bool is_done() const { return turn_->count == 0 || head_ == num_heads_; }
  HeadStep<Kv> get() const {
    if (is_done()) return {nullptr, 0};
    return {&turn_->steps[step_], head_};
  }
  void Advance() {
    if (is_done() || ++step_ < turn_->count) return;
    step_ = 0;
    if (++head_ < num_heads_ || then_ == nullptr) return;
    turn_ = then_;
    then_ = nullptr;
    head_ = 0;
  }

 private:
  const Turn<Kv>* turn_;
  const Turn<Kv>* then_;
  int num_heads_;
  int step_ = 0;
  int head_ = 0;
};

// The turn that begins with tile `tile_idx`, which moves behind it.
template <typename Kv>
void FindTurn(const DecodeParams& p, const WorkItem& item, int& tile_idx,
              int max_steps, Turn<Kv>& turn) {
  turn.count = 0;
  while (tile_idx < item.last_tile && turn.count < max_steps) {
    FindStep(p, item, tile_idx, turn.steps[turn.count++]);
  }
}

// Rows to fetch while a head takes a step: as many as the step has.
template <typename Kv>
struct RowsAhead {
  const Kv* const* keys = nullptr;    // [kStepTokens], or null
  const Kv* const* values = nullptr;  // alike
  int64_t key_offset = 0;             // elements from each to the row
  int64_t value_offset = 0;
};

// Those of another step of a head.
template <typename Kv>
HWY_INLINE RowsAhead<Kv> RowsOf(const DecodeParams& p, HeadStep<Kv> step,
                                int first_head) {
  if (step.step == nullptr) return {};
  const int64_t kv_head = first_head + step.head;
  return {step.step->keys, step.step->values, kv_head * p.key.head_stride,
          kv_head * p.value.head_stride};
}

// Rows of queries from which on RowsInOrder pays. Below, all heads of a token
// are fetched soon after one another anyway, and finding the rows costs more:
// group 1 reads 3 to 8 % slower in it, bf16 at group 4 13 %.
inline constexpr int kMinRowsInOrder = 5;

// Those of a turn in the order in which they lie in memory, where a token's
// heads lie side by side: one head's alone are small pieces that are far apart,
// and the memory has closed the page by the time the next head comes back to
// it. On two Zen 5 cores, 1 x 65536 with 8 kv heads of 8 q heads in blocks of
// 16 reads 29 GB/s instead of 19, 28 instead of 20 in bf16.
template <typename Kv>
class RowsInOrder {
 public:
  RowsInOrder(const DecodeParams& p, int first_head, int num_heads)
      : p_(p), first_head_(first_head), num_heads_(num_heads) {}

  // The share of the `rank`-th of the turn's steps of single heads.
  HWY_INLINE RowsAhead<Kv> Share(const Turn<Kv>& turn, int rank) {
    if (rank >= turn.count * num_heads_) return {};
    int token = rank * kStepTokens / num_heads_;
    int head = rank * kStepTokens % num_heads_;
    for (int row = 0; row < kStepTokens; ++token, head = 0) {
      const Step<Kv>& step = turn.steps[token / kStepTokens];
      const int64_t kv_head = first_head_ + head;
      const Kv* key =
          step.keys[token % kStepTokens] + kv_head * p_.key.head_stride;
      const Kv* value =
          step.values[token % kStepTokens] + kv_head * p_.value.head_stride;
      const int end = std::min(kStepTokens, row + num_heads_ - head);
      for (; row < end; ++row) {
        keys_[row] = key;
        values_[row] = value;
        key += p_.key.head_stride;
        value += p_.value.head_stride;
      }
    }
    return {keys_, values_};
  }

 private:
  const DecodeParams& p_;
  int first_head_;
  int num_heads_;
  const Kv* keys_[kStepTokens];
  const Kv* values_[kStepTokens];
};

inline constexpr int kLineBytes = 64;

// One step of one kv head: rows of its tokens, and of those to fetch meanwhile.
// Past `num_tokens` the last token is repeated.
template <typename Kv>
struct TokenRows {
  int num_tokens;
  const Kv* const* rows;  // [kStepTokens]
  int64_t head_offset;    // elements from a token's row to the head's
  const Kv* const* next;  // [kStepTokens], or null
  int64_t next_offset;    // of the head to fetch
  int dim;
};

// Fetches, of the next tokens in the places from `first` on, the lines that
// begin within `kDims` dimensions, from `dim` on: those that are about to be
// read of the tokens at hand. So fetches are spread over the arithmetic, where
// many at once would wait for each other. `kDims` is a power of two, and `dim`
// a multiple of it.
template <int kTokens, int kDims, typename Kv>
HWY_INLINE void FetchParts(const TokenRows<Kv>& tokens, int first, int dim) {
  constexpr int kLine = static_cast<int>(kLineBytes / sizeof(Kv));
  if (tokens.next == nullptr || (kDims < kLine && dim % kLine != 0)) return;
  HWY_UNROLL(4)
  for (int t = 0; t < kTokens; ++t) {
    const Kv* row = tokens.next[first + t] + tokens.next_offset + dim;
    HWY_UNROLL(8)
    for (int d = 0; d < kDims; d += kLine) FetchLine(row + d);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_TURNS_INL_H_
