// Streams: all blocks are taken when a stream is opened, and its row is a ring.
// Counting a reservation instead, and taking blocks when they are reached,
// would leave them to the prefix cache for the first minute of a stream; for
// that, every other allocation would have to know of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"

namespace paged {

using internal::BlockManagerState;
using internal::Sequence;
using internal::SequenceKind;

namespace internal {

int64_t BlockManagerState::StreamColumnsInUse(const Sequence& stream) const {
  return std::min<int64_t>(stream.num_columns, ColumnsFor(stream.high_water));
}

int32_t BlockManagerState::StreamColumn(const Sequence& stream,
                                        int64_t block) const {
  const int64_t sinks = stream.num_sink_columns;
  if (block < sinks) return static_cast<int32_t>(block);
  const int64_t ring = stream.num_columns - sinks;
  return static_cast<int32_t>(sinks + (block - sinks) % ring);
}

// The first, after the sinks, that the last chunk's first token sees.
int64_t BlockManagerState::StreamFirstLiveBlock(const Sequence& stream) const {
  const int64_t first_seen =
      std::max<int64_t>(0, stream.chunk_begin - stream.window + 1);
  return std::max<int64_t>(stream.num_sink_columns,
                           first_seen / options.block_size);
}

void BlockManagerState::AppendToStream(Sequence& stream, int64_t num_tokens) {
  const int64_t in_use = StreamColumnsInUse(stream);
  stream.chunk_begin = stream.length;
  stream.length += num_tokens;
  stream.high_water = std::max(stream.high_water, stream.length);
  reserved -= StreamColumnsInUse(stream) - in_use;
}

}  // namespace internal

absl::StatusOr<SequenceHandle> BlockManager::OpenStream(
    const StreamRequest& request) {
  BlockManagerState& state = *state_;
  const int64_t size = state.options.block_size;
  const int64_t most = state.max_tokens_per_row();
  if (request.window < 1 || request.window > most || request.sink < 0 ||
      request.sink > most || request.max_chunk < 1 ||
      request.max_chunk > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("window and max_chunk must be in 1..", most,
                     " and sink in 0..", most, "; got ", request.window, ", ",
                     request.max_chunk, " and ", request.sink));
  }
  // A window and a chunk, wherever in a block they begin.
  const int64_t num_sink_columns = state.ColumnsFor(request.sink);
  const int64_t num_columns =
      num_sink_columns +
      state.ColumnsFor(request.window - 1 + request.max_chunk + size - 1);
  if (num_columns > state.options.max_blocks_per_seq ||
      num_columns >= state.options.num_blocks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a stream must fit a row of max_blocks_per_seq, ",
        state.options.max_blocks_per_seq, ", and the pool, ",
        state.options.num_blocks - 1, "; got ", num_columns, " blocks"));
  }
  if (!state.sequences.HasClosed() ||
      num_columns > state.pool.num_available()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a stream must fit the available blocks and max_seqs; got ",
        num_columns, " blocks for ", state.pool.num_available(), ", and ",
        state.sequences.num_open(), " open"));
  }
  const SequenceHandle handle = state.sequences.Open(SequenceKind::kStream);
  Sequence& stream = state.sequences.at(handle.slot);
  state.events.AddRow({.kind = BlockEventKind::kOpened, .slot = handle.slot});
  state.TakeColumns(stream, num_columns);
  stream.owned_end = 0;  // every append goes through the ring
  stream.window = request.window;
  stream.max_chunk = request.max_chunk;
  stream.num_sink_columns = static_cast<int32_t>(num_sink_columns);
  state.reserved += num_columns;
  return handle;
}

}  // namespace paged
