#include "paged/internal/block_manager_state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {

BlockManagerState::BlockManagerState(const BlockManagerOptions& opts)
    : options(opts),
      pool(opts.num_blocks, opts.max_steps_in_flight + 1),
      index(opts.num_blocks, opts.block_size, opts.verify_tokens),
      sequences(opts.max_seqs, opts.max_blocks_per_seq),
      steps(opts.max_steps_in_flight, opts.max_seqs),
      events(opts.max_events, opts.event_detail) {
  pool.set_copy_quarantine(steps.SlotOf(steps.building()));
}

// Evictions come in runs, and each reads four places of a large pool.
// Neighbours on the list are neighbours in the pool more often than not; the
// entries of their digests never are. One eviction ahead is not enough, since a
// miss takes as long as four. A million blocks, three pairs of runs side by
// side: 75, 106 and 112 ns an eviction one ahead, 41, 45 and 72 so.
void BlockManagerState::PrefetchEvictions() const {
  constexpr int kEntry = 4;
  constexpr int kBlock = 8;
  if (pool.num_idle() <= kBlock) return;
  int32_t block = pool.OldestIdle();
  for (int i = 0; i < kEntry; ++i) block = pool.IdleAfter(block);
  index.PrefetchEntry(index.digest(block));
  for (int i = kEntry; i < kBlock; ++i) block = pool.IdleAfter(block);
  pool.Prefetch(block);
  index.PrefetchDigest(block);
}

int32_t BlockManagerState::EvictOldest() {
  const int32_t block = pool.PopOldestIdle();
  PrefetchEvictions();
  events.Add({.kind = BlockEventKind::kEvicted,
              .block = block,
              .digest = index.digest(block)});
  index.Erase(block);
  ++evictions;
  return block;
}

void BlockManagerState::TakeColumns(Sequence& sequence, int64_t num_columns) {
  if (num_columns == 0) return;
  int32_t* row = sequences.Row(sequences.SlotOf(sequence));
  const int32_t begin = sequence.num_columns;
  const int32_t end = begin + static_cast<int32_t>(num_columns);
  for (int32_t column = begin; column < end; ++column) {
    row[column] = TakeBlock();
  }
  sequence.num_columns = end;
  sequence.owned_end = int64_t{end} * options.block_size;
  sequences.MarkChanged(sequence, begin, end);
  events.AddBlocks(BlockEventKind::kTaken, sequences.SlotOf(sequence),
                   {row + begin, static_cast<std::size_t>(num_columns)});
}

void BlockManagerState::DropColumns(Sequence& sequence, int32_t num_columns) {
  const int32_t* row = sequences.Row(sequences.SlotOf(sequence));
  events.AddBlocks(
      BlockEventKind::kRemoved, sequences.SlotOf(sequence),
      {row + num_columns,
       static_cast<std::size_t>(sequence.num_columns - num_columns)});
  for (int32_t column = sequence.num_columns; column-- > num_columns;) {
    if (row[column] != kNullBlock) pool.Unreference(row[column]);
  }
  sequence.num_columns = num_columns;
}

void BlockManagerState::CloseRow(Sequence& sequence) {
  const uint32_t slot = sequences.SlotOf(sequence);
  DropColumns(sequence, 0);
  sequences.Close(slot);
  events.AddRow({.kind = BlockEventKind::kClosed, .slot = slot});
}

PrefixMatch BlockManagerState::Match(const Prefix& prefix, int64_t max_blocks,
                                     int32_t* row) const {
  // Look-ups are independent, and each a miss in the caches: ask early.
  constexpr int64_t kAhead = 16;
  const BlockDigest* digests = prefix.digests.data();
  const int32_t* tokens = prefix.tokens.data();
  for (int64_t i = 0; i < std::min(kAhead, max_blocks); ++i) {
    index.PrefetchEntry(digests[i]);
  }
  PrefixMatch match;
  for (int64_t i = 0; i < max_blocks; ++i) {
    if (i + kAhead < max_blocks) {
      index.PrefetchEntry(digests[i + kAhead]);
      index.PrefetchCandidate(digests[i + kAhead / 2]);
    }
    const int32_t block = index.Find(
        {.digest = &digests[i],
         .tokens = index.verifies() ? tokens + i * options.block_size : nullptr,
         .parent = match.last_content});
    if (block < 0) break;
    match.num_idle += pool.IsIdle(block) ? 1 : 0;
    match.last_content = index.content(block);
    if (row != nullptr) {
      pool.Prefetch(block);
      row[i] = block;
    }
    match.num_blocks = i + 1;
  }
  return match;
}

// The last token is left to be computed: without it there is no output.
int64_t BlockManagerState::MatchableBlocks(
    const SequenceRequest& request) const {
  return std::min(static_cast<int64_t>(request.prefix.digests.size()),
                  (request.num_tokens - 1) / options.block_size);
}

void BlockManagerState::AdoptColumns(Sequence& sequence,
                                     const PrefixMatch& match) {
  const int32_t* row = sequences.Row(sequences.SlotOf(sequence));
  const auto num_columns = static_cast<int32_t>(match.num_blocks);
  for (int32_t column = 0; column < num_columns; ++column) {
    pool.Reference(row[column]);
  }
  sequence.num_columns = num_columns;
  sequence.committed_blocks = num_columns;
  sequence.computed = match.num_blocks * options.block_size;
  sequence.length = sequence.computed;
  sequence.last_content = match.last_content;
  sequences.MarkChanged(sequence, 0, num_columns);
  events.AddBlocks(BlockEventKind::kTaken, sequences.SlotOf(sequence),
                   {row, static_cast<std::size_t>(num_columns)});
}

absl::Status BlockManagerState::CheckPrefix(const Prefix& prefix) const {
  const auto tokens = static_cast<int64_t>(prefix.tokens.size());
  const auto digests = static_cast<int64_t>(prefix.digests.size());
  if (!index.verifies() || tokens / options.block_size >= digests) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "prefix.tokens must hold block_size tokens per digest with "
      "verify_tokens; got ",
      tokens, " for ", digests, " digests of ", options.block_size));
}

absl::Status BlockManagerState::CheckRequest(
    const SequenceRequest& request) const {
  if (request.num_tokens < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_tokens must be at least 1; got ", request.num_tokens));
  }
  if (request.lookahead_tokens < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lookahead_tokens must not be negative; got ",
                     request.lookahead_tokens));
  }
  // The null block is nobody's.
  const int64_t most =
      std::min<int64_t>(options.max_blocks_per_seq, options.num_blocks - 1) *
      options.block_size;
  if (request.num_tokens > most ||
      request.lookahead_tokens > most - request.num_tokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_tokens and lookahead_tokens must fit a row of "
                     "max_blocks_per_seq and the pool, which hold ",
                     most, " tokens; got ", request.num_tokens, " and ",
                     request.lookahead_tokens));
  }
  return CheckPrefix(request.prefix);
}

absl::Status StaleHandle(SequenceHandle handle) {
  return absl::NotFoundError(
      absl::StrCat("handle must name what is open in this manager; got slot ",
                   handle.slot, ", generation ", handle.generation));
}

absl::Status WrongKind(const char* rule) {
  return absl::FailedPreconditionError(rule);
}

}  // namespace paged::internal
