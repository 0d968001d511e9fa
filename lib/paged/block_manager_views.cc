#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerState;
using internal::kNullBlock;
using internal::Sequence;
using internal::SequenceKind;
using internal::SequenceTable;

namespace {

absl::Status CheckHandles(const SequenceTable& sequences,
                          BlockManager::Handles handles) {
  for (const SequenceHandle handle : handles) {
    if (sequences.Find(handle) == nullptr) {
      return internal::StaleHandle(handle);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSize(const char* name, std::size_t size, std::size_t least) {
  if (size >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must hold ", least, " values; got ", size));
}

// Writes the columns that CsrTable lists, and returns the end.
int32_t* WriteListed(const BlockManagerState& state, uint32_t slot,
                     int32_t* out) {
  const Sequence& sequence = state.sequences.at(slot);
  const int32_t* row = state.sequences.Row(slot);
  if (sequence.kind != SequenceKind::kStream) {
    return std::copy_n(row, sequence.num_columns, out);
  }
  const int64_t num_blocks = state.ColumnsFor(sequence.length);
  out = std::copy_n(
      row, std::min<int64_t>(num_blocks, sequence.num_sink_columns), out);
  for (int64_t i = state.StreamFirstLiveBlock(sequence); i < num_blocks; ++i) {
    *out++ = row[state.StreamColumn(sequence, i)];
  }
  return out;
}

}  // namespace

namespace internal {

int64_t BlockManagerState::NumListedColumns(const Sequence& sequence) const {
  if (sequence.kind != SequenceKind::kStream) return sequence.num_columns;
  const int64_t num_blocks = ColumnsFor(sequence.length);
  return std::min<int64_t>(num_blocks, sequence.num_sink_columns) +
         std::max<int64_t>(0, num_blocks - StreamFirstLiveBlock(sequence));
}

int64_t BlockManagerState::LastBlockLen(const Sequence& sequence) const {
  return sequence.length == 0 ? 0
                              : (sequence.length - 1) % options.block_size + 1;
}

int32_t BlockManagerState::ListedLength(const Sequence& sequence) const {
  const int64_t full = std::max<int64_t>(0, NumListedColumns(sequence) - 1);
  return static_cast<int32_t>(full * options.block_size +
                              LastBlockLen(sequence));
}

}  // namespace internal

absl::Status BlockManager::DenseTable(Handles handles, int width,
                                      absl::Span<int32_t> out) const {
  const BlockManagerState& state = *state_;
  if (width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("width must be at least 1; got ", width));
  }
  PAGED_RETURN_IF_ERROR(CheckHandles(state.sequences, handles));
  const auto stride = static_cast<std::size_t>(width);
  PAGED_RETURN_IF_ERROR(CheckSize("out", out.size(), handles.size() * stride));
  for (const SequenceHandle handle : handles) {
    if (state.sequences.at(handle.slot).num_columns > width) {
      return absl::InvalidArgumentError(absl::StrCat(
          "width must hold the longest row, ",
          state.sequences.at(handle.slot).num_columns, "; got ", width));
    }
  }
  int32_t* to = out.data();
  for (const SequenceHandle handle : handles) {
    const auto num_columns =
        static_cast<std::size_t>(state.sequences.at(handle.slot).num_columns);
    std::memcpy(to, state.sequences.Row(handle.slot),
                num_columns * sizeof(int32_t));
    std::fill(to + num_columns, to + stride, kNullBlock);
    to += stride;
  }
  return absl::OkStatus();
}

absl::Status BlockManager::ContextLens(Handles handles,
                                       absl::Span<int32_t> out) const {
  const BlockManagerState& state = *state_;
  PAGED_RETURN_IF_ERROR(CheckHandles(state.sequences, handles));
  PAGED_RETURN_IF_ERROR(CheckSize("out", out.size(), handles.size()));
  for (std::size_t i = 0; i < handles.size(); ++i) {
    out[i] = state.ListedLength(state.sequences.at(handles[i].slot));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> BlockManager::CsrTable(
    Handles handles, absl::Span<int32_t> indptr, absl::Span<int32_t> indices,
    absl::Span<int32_t> last_block_lens) const {
  const BlockManagerState& state = *state_;
  PAGED_RETURN_IF_ERROR(CheckHandles(state.sequences, handles));
  PAGED_RETURN_IF_ERROR(CheckSize("indptr", indptr.size(), handles.size() + 1));
  PAGED_RETURN_IF_ERROR(
      CheckSize("last_block_lens", last_block_lens.size(), handles.size()));
  std::size_t total = 0;
  for (const SequenceHandle handle : handles) {
    total += static_cast<std::size_t>(
        state.NumListedColumns(state.sequences.at(handle.slot)));
  }
  PAGED_RETURN_IF_ERROR(CheckSize("indices", indices.size(), total));
  int32_t* to = indices.data();
  for (std::size_t i = 0; i < handles.size(); ++i) {
    indptr[i] = static_cast<int32_t>(to - indices.data());
    to = WriteListed(state, handles[i].slot, to);
    last_block_lens[i] = static_cast<int32_t>(
        state.LastBlockLen(state.sequences.at(handles[i].slot)));
  }
  indptr[handles.size()] = static_cast<int32_t>(total);
  return static_cast<int64_t>(total);
}

absl::StatusOr<int64_t> BlockManager::CommonPrefixBlocks(
    Handles handles) const {
  const BlockManagerState& state = *state_;
  PAGED_RETURN_IF_ERROR(CheckHandles(state.sequences, handles));
  if (handles.empty()) return 0;
  const int32_t* first = state.sequences.Row(handles[0].slot);
  int64_t common = state.options.max_blocks_per_seq;
  for (const SequenceHandle handle : handles) {
    const Sequence& sequence = state.sequences.at(handle.slot);
    common = std::min(common, sequence.length / state.options.block_size);
    if (sequence.kind == SequenceKind::kStream) {
      common = std::min<int64_t>(common, sequence.num_sink_columns);
    }
    const int32_t* row = state.sequences.Row(handle.slot);
    common = std::mismatch(row, row + common, first).first - row;
  }
  return std::find(first, first + common, kNullBlock) - first;
}

BlockStatistics BlockManager::Statistics() const {
  const BlockManagerState& state = *state_;
  BlockStatistics statistics{.num_blocks = state.pool.num_blocks(),
                             .cached = state.pool.num_idle(),
                             .free = state.pool.num_free(),
                             .quarantined = state.pool.num_quarantined(),
                             .reserved = state.reserved,
                             .indexed = state.index.size(),
                             .pinned = state.pinned,
                             .open = state.sequences.num_open(),
                             .lookups = state.lookups,
                             .hits = state.hits,
                             .evictions = state.evictions,
                             .copies = state.copies,
                             .dropped_events = state.events.num_dropped()};
  statistics.used = statistics.num_blocks - 1 - statistics.cached -
                    statistics.free - statistics.quarantined -
                    statistics.reserved;
  int64_t slots = 0;
  for (int i = 0; i < state.sequences.max_seqs(); ++i) {
    const Sequence& sequence = state.sequences.at(static_cast<uint32_t>(i));
    if (sequence.kind != SequenceKind::kSequence) continue;
    const int64_t columns = sequence.num_columns;
    slots += columns * state.options.block_size;
    statistics.wasted_slots +=
        columns * state.options.block_size - sequence.length;
  }
  if (slots > 0) {
    statistics.fragmentation = static_cast<double>(statistics.wasted_slots) /
                               static_cast<double>(slots);
  }
  if (state.lookups > 0) {
    statistics.hit_rate =
        static_cast<double>(state.hits) / static_cast<double>(state.lookups);
  }
  return statistics;
}

}  // namespace paged
