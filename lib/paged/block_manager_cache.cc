#include <algorithm>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerState;
using internal::kNullBlock;
using internal::PrefixKey;
using internal::PrefixMatch;
using internal::Sequence;
using internal::SequenceKind;

namespace {

// Publishes one block, unless its content is known by another, and makes it the
// parent of the next.
void Publish(BlockManagerState& state, Sequence& sequence, int32_t block,
             const PrefixKey& key) {
  if (block == kNullBlock || key.parent == internal::kUnknownContent) {
    if (state.index.verifies()) {
      sequence.last_content = internal::kUnknownContent;
    }
    return;
  }
  int32_t known = block;
  if (!state.pool.IsIndexed(block)) known = state.index.Find(key);
  if (known < 0) {
    known = block;
    state.index.Insert(block, key);
    state.pool.SetIndexed(block);
    state.events.Add({.kind = BlockEventKind::kStored,
                      .slot = state.sequences.SlotOf(sequence),
                      .block = block,
                      .digest = *key.digest});
  }
  sequence.last_content = state.index.content(known);
}

}  // namespace

absl::Status BlockManager::Commit(SequenceHandle handle, int64_t num_computed,
                                  const Prefix& prefix) {
  BlockManagerState& state = *state_;
  Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (sequence->kind != SequenceKind::kSequence) {
    return internal::WrongKind("only a sequence can be committed");
  }
  if (num_computed < sequence->computed || num_computed > sequence->length) {
    return absl::OutOfRangeError(
        absl::StrCat("num_computed must be in ", sequence->computed, "..",
                     sequence->length, "; got ", num_computed));
  }
  PAGED_RETURN_IF_ERROR(state.CheckPrefix(prefix));
  sequence->computed = num_computed;
  // After a reset, what was computed before is not to be found any more.
  if (sequence->cache_epoch != state.cache_epoch) return absl::OkStatus();

  const int64_t size = state.options.block_size;
  const auto end = static_cast<int32_t>(std::min(
      static_cast<int64_t>(prefix.digests.size()), num_computed / size));
  const int32_t* row = state.sequences.Row(handle.slot);
  constexpr int32_t kAhead = 8;
  for (int32_t i = sequence->committed_blocks; i < end; ++i) {
    if (i + kAhead < end) {
      state.index.PrefetchEntry(
          prefix.digests[static_cast<std::size_t>(i + kAhead)]);
      state.index.PrefetchDigest(row[i + kAhead]);
    }
    Publish(state, *sequence, row[i],
            {.digest = &prefix.digests[static_cast<std::size_t>(i)],
             .tokens = state.index.verifies()
                           ? &prefix.tokens[static_cast<std::size_t>(i * size)]
                           : nullptr,
             .parent = sequence->last_content});
  }
  sequence->committed_blocks = std::max(sequence->committed_blocks, end);
  // What can be found must not be written, should a rollback end within it.
  if (end == sequence->num_columns) sequence->owned_end = 0;
  return absl::OkStatus();
}

absl::StatusOr<PinnedPrefix> BlockManager::Pin(const Prefix& prefix) {
  BlockManagerState& state = *state_;
  PAGED_RETURN_IF_ERROR(state.CheckPrefix(prefix));
  if (!state.sequences.HasClosed()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "at most max_seqs may be open; got ", state.options.max_seqs));
  }
  const int64_t most =
      std::min<int64_t>(static_cast<int64_t>(prefix.digests.size()),
                        state.options.max_blocks_per_seq);
  const PrefixMatch match = state.Match(
      prefix, most, state.sequences.Row(state.sequences.NextSlot()));
  if (match.num_blocks == 0) {
    return absl::NotFoundError("prefix must be cached to be pinned; got none");
  }
  const SequenceHandle handle = state.sequences.Open(SequenceKind::kPin);
  Sequence& pin = state.sequences.at(handle.slot);
  state.events.AddRow({.kind = BlockEventKind::kOpened, .slot = handle.slot});
  state.AdoptColumns(pin, match);
  state.pinned += match.num_blocks;
  return PinnedPrefix{.handle = handle, .num_tokens = pin.length};
}

absl::Status BlockManager::Unpin(SequenceHandle handle) {
  BlockManagerState& state = *state_;
  Sequence* pin = state.sequences.Find(handle);
  if (pin == nullptr) return internal::StaleHandle(handle);
  if (pin->kind != SequenceKind::kPin) {
    return internal::WrongKind("only a pin can be unpinned");
  }
  state.pinned -= pin->num_columns;
  state.CloseRow(*pin);
  return absl::OkStatus();
}

void BlockManager::ResetCache() {
  BlockManagerState& state = *state_;
  state.index.Clear();
  state.pool.ForgetIndex();
  ++state.cache_epoch;
  state.events.Add({.kind = BlockEventKind::kCleared});
}

}  // namespace paged
