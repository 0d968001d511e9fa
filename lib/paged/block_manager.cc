#include "paged/block_manager.h"

#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "paged/internal/block_manager_state.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerState;
using internal::PrefixMatch;
using internal::Sequence;
using internal::SequenceKind;

namespace {

// Numbers after the last block are those of list sentinels.
constexpr int64_t kMaxBlocks = int64_t{1} << 30;
// References of one block stay below its flags.
constexpr int64_t kMaxSeqs = int64_t{1} << 24;

absl::Status CheckRange(const char* name, int64_t value, int64_t least,
                        int64_t greatest) {
  if (value >= least && value <= greatest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be in ", least, "..", greatest, "; got ", value));
}

absl::Status CheckOptions(const BlockManagerOptions& options) {
  constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();
  PAGED_RETURN_IF_ERROR(
      CheckRange("num_blocks", options.num_blocks, 2, kMaxBlocks));
  PAGED_RETURN_IF_ERROR(
      CheckRange("block_size", options.block_size, 1, 1 << 20));
  PAGED_RETURN_IF_ERROR(CheckRange("max_seqs", options.max_seqs, 1, kMaxSeqs));
  PAGED_RETURN_IF_ERROR(CheckRange("max_blocks_per_seq",
                                   options.max_blocks_per_seq, 1, kMaxBlocks));
  // An entry of the table is named by 32 bits.
  PAGED_RETURN_IF_ERROR(CheckRange(
      "max_seqs * max_blocks_per_seq",
      int64_t{options.max_seqs} * options.max_blocks_per_seq, 1, kMaxInt));
  PAGED_RETURN_IF_ERROR(CheckRange("watermark_blocks", options.watermark_blocks,
                                   0, options.num_blocks - 1));
  PAGED_RETURN_IF_ERROR(
      CheckRange("max_steps_in_flight", options.max_steps_in_flight, 1, 1024));
  return CheckRange("max_events", options.max_events, 0, kMaxInt);
}

}  // namespace

absl::StatusOr<BlockManager> BlockManager::Create(
    const BlockManagerOptions& options) {
  PAGED_RETURN_IF_ERROR(CheckOptions(options));
  // The one place where memory is taken, and where it may be missing.
  try {
    return BlockManager(std::make_unique<BlockManagerState>(options));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory for the books");
  }
}

BlockManager::BlockManager(std::unique_ptr<BlockManagerState> state)
    : state_(std::move(state)) {}
BlockManager::BlockManager(BlockManager&&) noexcept = default;
BlockManager& BlockManager::operator=(BlockManager&&) noexcept = default;
BlockManager::~BlockManager() = default;

const BlockManagerOptions& BlockManager::options() const {
  return state_->options;
}

absl::StatusOr<Admission> BlockManager::Probe(
    const SequenceRequest& request) const {
  const BlockManagerState& state = *state_;
  PAGED_RETURN_IF_ERROR(state.CheckRequest(request));
  const PrefixMatch match =
      state.Match(request.prefix, state.MatchableBlocks(request), nullptr);
  Admission admission;
  admission.cached_blocks = match.num_blocks;
  admission.new_blocks =
      state.ColumnsFor(request.num_tokens + request.lookahead_tokens) -
      match.num_blocks;
  admission.available_blocks = state.pool.num_available() - match.num_idle;
  admission.fits = admission.new_blocks <= admission.available_blocks &&
                   state.sequences.HasClosed();
  return admission;
}

bool BlockManager::CanAdmit(const SequenceRequest& request) const {
  const absl::StatusOr<Admission> admission = Probe(request);
  return admission.ok() && admission->fits &&
         admission->new_blocks + state_->options.watermark_blocks <=
             admission->available_blocks;
}

absl::StatusOr<OpenedSequence> BlockManager::Open(
    const SequenceRequest& request) {
  BlockManagerState& state = *state_;
  PAGED_RETURN_IF_ERROR(state.CheckRequest(request));
  if (!state.sequences.HasClosed()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "at most max_seqs may be open; got ", state.options.max_seqs));
  }
  // The row of a slot that is not open is scratch.
  const int64_t matchable = state.MatchableBlocks(request);
  const PrefixMatch match =
      state.Match(request.prefix, matchable,
                  state.sequences.Row(state.sequences.NextSlot()));
  const int64_t num_new =
      state.ColumnsFor(request.num_tokens) - match.num_blocks;
  const int64_t available = state.pool.num_available() - match.num_idle;
  if (num_new > available) {
    return absl::ResourceExhaustedError(
        absl::StrCat("num_tokens must fit the available blocks; got ", num_new,
                     " new blocks for ", available));
  }

  const SequenceHandle handle = state.sequences.Open(SequenceKind::kSequence);
  Sequence& sequence = state.sequences.at(handle.slot);
  state.events.AddRow({.kind = BlockEventKind::kOpened,
                       .slot = handle.slot,
                       .block = static_cast<int32_t>(matchable),
                       .other = static_cast<int32_t>(match.num_blocks)});
  // What was found is held before anything is taken: else it could be evicted
  // for this very sequence.
  state.AdoptColumns(sequence, match);
  state.TakeColumns(sequence, num_new);
  sequence.length = request.num_tokens;
  sequence.last_write_step = state.steps.building();
  sequence.cache_epoch = state.cache_epoch;
  state.lookups += matchable;
  state.hits += match.num_blocks;
  return OpenedSequence{
      .handle = handle,
      .cached_tokens = match.num_blocks * state.options.block_size};
}

absl::StatusOr<int64_t> BlockManager::Release(SequenceHandle handle) {
  BlockManagerState& state = *state_;
  Sequence* sequence = state.sequences.Find(handle);
  if (sequence == nullptr) return internal::StaleHandle(handle);
  if (sequence->kind == SequenceKind::kPin) {
    return internal::WrongKind("a pin is given back by Unpin");
  }
  const int64_t before = state.pool.num_available();
  if (sequence->kind == SequenceKind::kStream) {
    state.reserved -=
        sequence->num_columns - state.StreamColumnsInUse(*sequence);
  }
  state.CloseRow(*sequence);
  return state.pool.num_available() - before;
}

}  // namespace paged
