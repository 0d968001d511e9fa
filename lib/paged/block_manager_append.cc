#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"

namespace paged {

using internal::AppendNeeds;
using internal::AppendVerdict;
using internal::BlockManagerState;
using internal::Sequence;
using internal::SequenceKind;

namespace internal {

AppendNeeds BlockManagerState::NeedsOf(const Sequence& sequence,
                                       int64_t num_tokens) const {
  if (num_tokens < 1) return {AppendVerdict::kCountBelowOne};
  if (sequence.kind == SequenceKind::kPin) {
    return {AppendVerdict::kNotASequence};
  }
  if (sequence.kind == SequenceKind::kStream) {
    return {num_tokens <= sequence.max_chunk ? AppendVerdict::kFits
                                             : AppendVerdict::kChunkTooLong};
  }
  if (num_tokens > max_tokens_per_row() - sequence.length) {
    return {AppendVerdict::kPastTheRow};
  }
  AppendNeeds needs;
  needs.num_new_columns =
      ColumnsFor(sequence.length + num_tokens) - sequence.num_columns;
  const int32_t* row = sequences.Row(sequences.SlotOf(sequence));
  needs.copies_last_block = sequence.length % options.block_size != 0 &&
                            !pool.IsWritable(row[sequence.num_columns - 1]);
  if (needs.copies_last_block) {
    if (sequence.last_write_step == steps.building()) {
      return {AppendVerdict::kWrittenByThisStep};
    }
    if (!steps.HasRoomForCopy()) return {AppendVerdict::kTooManyCopies};
  }
  const int64_t num_taken =
      needs.num_new_columns + (needs.copies_last_block ? 1 : 0);
  if (num_taken > pool.num_available()) {
    needs.verdict = AppendVerdict::kTooFewBlocks;
  }
  return needs;
}

absl::Status BlockManagerState::ErrorOf(const AppendNeeds& needs,
                                        int64_t num_tokens) const {
  switch (needs.verdict) {
    case AppendVerdict::kFits:
      break;
    case AppendVerdict::kCountBelowOne:
      return absl::InvalidArgumentError(
          absl::StrCat("num_tokens must be at least 1; got ", num_tokens));
    case AppendVerdict::kNotASequence:
      return WrongKind("a pin cannot be appended to");
    case AppendVerdict::kChunkTooLong:
      return absl::InvalidArgumentError(absl::StrCat(
          "num_tokens must be at most max_chunk of the stream; got ",
          num_tokens));
    case AppendVerdict::kPastTheRow:
      return absl::OutOfRangeError(absl::StrCat(
          "a sequence must fit max_blocks_per_seq, ",
          options.max_blocks_per_seq, " blocks of ", options.block_size,
          " tokens; got ", num_tokens, " more tokens"));
    case AppendVerdict::kWrittenByThisStep:
      return absl::FailedPreconditionError(
          "a shared last block must not be written by the step that copies it: "
          "submit the step first");
    case AppendVerdict::kTooManyCopies:
      return absl::ResourceExhaustedError(absl::StrCat(
          "a step makes at most max_seqs copies; got ", options.max_seqs));
    case AppendVerdict::kTooFewBlocks:
      return absl::ResourceExhaustedError(
          absl::StrCat("num_tokens must fit the available blocks; got ",
                       needs.num_new_columns, " new blocks and ",
                       needs.copies_last_block ? 1 : 0, " copies for ",
                       pool.num_available()));
  }
  return absl::OkStatus();
}

// The sequence's reference to the source becomes that of the copy.
void BlockManagerState::CopyLastBlock(Sequence& sequence) {
  const uint32_t slot = sequences.SlotOf(sequence);
  const int32_t column = sequence.num_columns - 1;
  int32_t& entry = sequences.Row(slot)[column];
  const BlockCopy copy{.source = entry, .destination = TakeBlock()};
  pool.SetCopyTarget(copy.destination);
  steps.AddCopy(copy);
  entry = copy.destination;
  sequences.MarkChanged(sequence, column, column + 1);
  ++copies;
  events.Add({.kind = BlockEventKind::kCopied,
              .slot = slot,
              .block = copy.source,
              .other = copy.destination});
}

}  // namespace internal

absl::Status BlockManager::Append(SequenceHandle handle, int64_t num_tokens) {
  BlockManagerState& state = *state_;
  Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (num_tokens > 0 && num_tokens <= sequence->owned_end - sequence->length) {
    sequence->length += num_tokens;
    sequence->last_write_step = state.steps.building();
    return absl::OkStatus();
  }
  const AppendNeeds needs = state.NeedsOf(*sequence, num_tokens);
  if (needs.verdict != AppendVerdict::kFits) {
    return state.ErrorOf(needs, num_tokens);
  }
  if (sequence->kind == SequenceKind::kStream) {
    state.AppendToStream(*sequence, num_tokens);
  } else {
    if (needs.copies_last_block) state.CopyLastBlock(*sequence);
    state.TakeColumns(*sequence, needs.num_new_columns);
    // The last block is now writable, whether it was or has just become so.
    sequence->owned_end =
        int64_t{sequence->num_columns} * state.options.block_size;
    sequence->length += num_tokens;
  }
  sequence->last_write_step = state.steps.building();
  return absl::OkStatus();
}

bool BlockManager::CanAppend(SequenceHandle handle, int64_t num_tokens) const {
  const Sequence* sequence = state_->sequences.Find(handle);
  return sequence != nullptr &&
         state_->NeedsOf(*sequence, num_tokens).verdict == AppendVerdict::kFits;
}

absl::StatusOr<SequenceHandle> BlockManager::Fork(SequenceHandle handle) {
  BlockManagerState& state = *state_;
  Sequence* parent = state.sequences.Find(handle);
  if (parent == nullptr) return internal::StaleHandle(handle);
  if (parent->kind != SequenceKind::kSequence) {
    return internal::WrongKind("only a sequence can be forked");
  }
  if (!state.sequences.HasClosed()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "at most max_seqs may be open; got ", state.options.max_seqs));
  }
  const SequenceHandle child_handle =
      state.sequences.Open(SequenceKind::kSequence);
  Sequence& child = state.sequences.at(child_handle.slot);
  const int32_t* parent_row = state.sequences.Row(handle.slot);
  int32_t* row = state.sequences.Row(child_handle.slot);
  std::copy_n(parent_row, parent->num_columns, row);
  for (int32_t column = 0; column < parent->slid.begin; ++column) {
    state.pool.ReferenceHeld(row[column]);
  }
  for (int32_t column = parent->slid.end; column < parent->num_columns;
       ++column) {
    state.pool.ReferenceHeld(row[column]);
  }
  child.length = parent->length;
  child.last_write_step = parent->last_write_step;
  child.num_columns = parent->num_columns;
  child.committed_blocks = parent->committed_blocks;
  child.computed = parent->computed;
  child.cache_epoch = parent->cache_epoch;
  child.last_content = parent->last_content;
  child.slid = parent->slid;
  // Neither may write the last block before it has looked who else holds it.
  parent->owned_end = child.owned_end = 0;
  state.sequences.MarkChanged(child, 0, child.num_columns);
  state.events.Add({.kind = BlockEventKind::kForked,
                    .slot = child_handle.slot,
                    .block = static_cast<int32_t>(handle.slot)});
  return child_handle;
}

}  // namespace paged
