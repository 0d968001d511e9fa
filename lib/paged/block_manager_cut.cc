// Shorter sequences, and what one sequence looks like.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerState;
using internal::kNullBlock;
using internal::Sequence;
using internal::SequenceKind;

namespace {

absl::Status CheckLength(int64_t length, int64_t least, const char* least_is,
                         int64_t greatest) {
  if (length >= least && length <= greatest) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "length must be at least ", least_is, ", ", least,
      ", and at most the sequence's, ", greatest, "; got ", length));
}

int64_t FirstKeptToken(const BlockManagerState& state,
                       const Sequence& sequence) {
  return int64_t{sequence.slid.end} * state.options.block_size;
}

void Cut(BlockManagerState& state, Sequence& sequence, int64_t length) {
  const auto num_columns = static_cast<int32_t>(state.ColumnsFor(length));
  if (num_columns < sequence.num_columns) {
    state.DropColumns(sequence, num_columns);
    sequence.owned_end = 0;
  }
  sequence.length = length;
  sequence.computed = std::min(sequence.computed, length);
  const auto full_blocks =
      static_cast<int32_t>(length / state.options.block_size);
  if (full_blocks >= sequence.committed_blocks) return;
  sequence.committed_blocks = full_blocks;
  if (!state.index.verifies()) return;
  // A last block that is not indexed is a copy of one that is or was; which, is
  // not known here.
  const int32_t* row = state.sequences.Row(state.sequences.SlotOf(sequence));
  sequence.last_content = full_blocks == 0 ? internal::kRootContent
                          : state.pool.IsIndexed(row[full_blocks - 1])
                              ? state.index.content(row[full_blocks - 1])
                              : internal::kUnknownContent;
}

absl::Status CutStream(BlockManagerState& state, Sequence& stream,
                       int64_t length) {
  PAGED_RETURN_IF_ERROR(CheckLength(length, 0, "0", stream.length));
  // The next token sees the window before `length`: no later block may have
  // taken its place in the ring.
  const int64_t size = state.options.block_size;
  const int64_t first_seen = std::max<int64_t>(0, length - stream.window + 1);
  const int64_t first_block =
      std::max<int64_t>(stream.num_sink_columns, first_seen / size);
  const int64_t ring = stream.num_columns - stream.num_sink_columns;
  if ((first_block + ring) * size < stream.high_water) {
    return absl::OutOfRangeError(absl::StrCat(
        "length must leave a window that the ring still holds; got ", length,
        " after ", stream.high_water));
  }
  stream.length = length;
  stream.chunk_begin = std::min(stream.chunk_begin, length);
  return absl::OkStatus();
}

}  // namespace

absl::Status BlockManager::RollbackTo(SequenceHandle handle, int64_t length) {
  BlockManagerState& state = *state_;
  Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (sequence->kind == SequenceKind::kStream) {
    return CutStream(state, *sequence, length);
  }
  if (sequence->kind == SequenceKind::kPin) {
    return internal::WrongKind("a pin cannot be rolled back");
  }
  PAGED_RETURN_IF_ERROR(CheckLength(
      length, std::max(sequence->computed, FirstKeptToken(state, *sequence)),
      "what was computed or slid away", sequence->length));
  Cut(state, *sequence, length);
  return absl::OkStatus();
}

absl::Status BlockManager::TrimTo(SequenceHandle handle, int64_t length) {
  BlockManagerState& state = *state_;
  Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (sequence->kind != SequenceKind::kSequence) {
    return internal::WrongKind("only a sequence can be trimmed");
  }
  PAGED_RETURN_IF_ERROR(CheckLength(length, FirstKeptToken(state, *sequence),
                                    "what was slid away", sequence->length));
  Cut(state, *sequence, length);
  return absl::OkStatus();
}

absl::Status BlockManager::Slide(SequenceHandle handle, int64_t window,
                                 int64_t sink) {
  BlockManagerState& state = *state_;
  Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (sequence->kind != SequenceKind::kSequence) {
    return internal::WrongKind("only a sequence can be slid");
  }
  if (window < 1 || sink < 0 || sink > state.max_tokens_per_row()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "window must be at least 1 and sink in 0..", state.max_tokens_per_row(),
        "; got ", window, " and ", sink));
  }
  const auto sink_columns = static_cast<int32_t>(state.ColumnsFor(sink));
  if (!sequence->slid.empty() && sink_columns != sequence->slid.begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("sink must stay as in the first slide, ",
                     sequence->slid.begin, " blocks; got ", sink_columns));
  }
  // The next token, at position length, sees from here on.
  const int64_t first_seen =
      std::max<int64_t>(0, sequence->length - window + 1);
  const auto end = static_cast<int32_t>(first_seen / state.options.block_size);
  const int32_t begin = std::max(sink_columns, sequence->slid.end);
  if (end <= begin) return absl::OkStatus();
  int32_t* row = state.sequences.Row(handle.slot);
  state.events.AddBlocks(BlockEventKind::kRemoved, handle.slot,
                         {row + begin, static_cast<std::size_t>(end - begin)});
  for (int32_t column = end; column-- > begin;) {
    state.pool.Unreference(row[column]);
    row[column] = kNullBlock;
  }
  sequence->slid = {sink_columns, end};
  state.sequences.MarkSlid(*sequence, begin, end);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> BlockManager::Length(SequenceHandle handle) const {
  const Sequence* sequence = state_->sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  return sequence->length;
}

absl::StatusOr<int64_t> BlockManager::SlotOf(SequenceHandle handle,
                                             int64_t position) const {
  const BlockManagerState& state = *state_;
  const Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (position < 0 || position >= sequence->length) {
    return absl::OutOfRangeError(
        absl::StrCat("position must be in the sequence of ", sequence->length,
                     " tokens; got ", position));
  }
  const int64_t size = state.options.block_size;
  int64_t column = position / size;
  bool is_kept = true;
  if (sequence->kind == SequenceKind::kStream) {
    const int64_t ring = sequence->num_columns - sequence->num_sink_columns;
    is_kept = column < sequence->num_sink_columns ||
              (column + ring) * size >= sequence->high_water;
    column = state.StreamColumn(*sequence, column);
  }
  const int32_t block = state.sequences.Row(handle.slot)[column];
  if (!is_kept || block == kNullBlock) {
    return absl::OutOfRangeError(
        absl::StrCat("position must not have been given back; got ", position));
  }
  return block * size + position % size;
}

absl::StatusOr<absl::Span<const int32_t>> BlockManager::Row(
    SequenceHandle handle) const {
  const Sequence* sequence = state_->sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  return absl::Span<const int32_t>(
      state_->sequences.Row(handle.slot),
      static_cast<std::size_t>(sequence->num_columns));
}

}  // namespace paged
