// Audit: every invariant, counted anew from the rows and lists.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"
#include "paged/internal/status_macros.h"

namespace paged {

using internal::BlockManagerState;
using internal::kNullBlock;
using internal::PoolLists;
using internal::Sequence;
using internal::SequenceKind;

namespace {

template <typename... Args>
absl::Status Broken(const Args&... args) {
  return absl::InternalError(absl::StrCat("audit: ", args...));
}

// What the rows, copies and lists say of each block.
struct Census {
  explicit Census(std::size_t num_blocks)
      : references(num_blocks), lists(num_blocks), is_target(num_blocks) {}

  std::vector<uint32_t> references;
  std::vector<int> lists;  // on how many
  std::vector<bool> is_target;
  int64_t reserved = 0;
  int64_t pinned = 0;
  int64_t open = 0;
};

absl::Status AuditLengths(const BlockManagerState& state,
                          const Sequence& sequence, uint32_t slot) {
  const int64_t size = state.options.block_size;
  if (sequence.kind != SequenceKind::kStream &&
      sequence.num_columns != state.ColumnsFor(sequence.length)) {
    return Broken("row ", slot, " has ", sequence.num_columns, " columns for ",
                  sequence.length, " tokens");
  }
  if (sequence.computed > sequence.length ||
      sequence.committed_blocks * size > sequence.computed) {
    return Broken("row ", slot, " committed more than it computed");
  }
  if (sequence.owned_end > sequence.length) {
    const int32_t last = state.sequences.Row(slot)[sequence.num_columns - 1];
    if (sequence.owned_end != sequence.num_columns * size ||
        !state.pool.IsWritable(last)) {
      return Broken("row ", slot, " would write block ", last);
    }
  }
  return absl::OkStatus();
}

absl::Status AuditRow(const BlockManagerState& state, uint32_t slot,
                      Census& census) {
  const Sequence& sequence = state.sequences.at(slot);
  PAGED_RETURN_IF_ERROR(AuditLengths(state, sequence, slot));
  ++census.open;
  const int32_t* row = state.sequences.Row(slot);
  for (int32_t column = 0; column < sequence.num_columns; ++column) {
    const int32_t block = row[column];
    if (block < 0 || block >= state.pool.num_blocks()) {
      return Broken("row ", slot, " names block ", block);
    }
    const bool is_slid =
        column >= sequence.slid.begin && column < sequence.slid.end;
    if ((block == kNullBlock) != is_slid) {
      return Broken("row ", slot, " has block ", block, " in column ", column,
                    is_slid ? ", given back" : "");
    }
    if (!is_slid) ++census.references[static_cast<std::size_t>(block)];
    if (sequence.kind == SequenceKind::kStream &&
        state.pool.state(block) != 1) {
      return Broken("block ", block, " of a stream is not its own");
    }
  }
  if (sequence.kind == SequenceKind::kStream) {
    census.reserved +=
        sequence.num_columns - state.StreamColumnsInUse(sequence);
  } else if (sequence.kind == SequenceKind::kPin) {
    census.pinned += sequence.num_columns;
  }
  return absl::OkStatus();
}

absl::Status AuditCopies(const BlockManagerState& state, Census& census) {
  for (uint64_t step = state.steps.retired() + 1;
       step <= state.steps.building(); ++step) {
    const absl::Span<const BlockCopy> copies = state.steps.copies(step);
    for (const BlockCopy& copy : copies) {
      ++census.references[static_cast<std::size_t>(copy.source)];
      if (census.is_target[static_cast<std::size_t>(copy.destination)]) {
        return Broken("block ", copy.destination, " is written by two copies");
      }
      census.is_target[static_cast<std::size_t>(copy.destination)] = true;
      for (const BlockCopy& other : copies) {
        if (copy.destination == other.source) {
          return Broken("block ", other.source,
                        " is source and destination of step ", step);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AuditList(const PoolLists& pool, const char* name,
                       const std::vector<int32_t>& blocks, uint32_t flags,
                       int64_t expected, Census& census) {
  if (static_cast<int64_t>(blocks.size()) != expected) {
    return Broken(name, " list has ", blocks.size(), " blocks; counted ",
                  expected);
  }
  for (const int32_t block : blocks) {
    if (block <= kNullBlock || block >= pool.num_blocks()) {
      return Broken(name, " list names block ", block);
    }
    ++census.lists[static_cast<std::size_t>(block)];
    // Quarantined blocks may be indexed and targets, or neither.
    const uint32_t ignored = flags == PoolLists::kQuarantined
                                 ? PoolLists::kIndexed | PoolLists::kCopyTarget
                                 : 0;
    if ((pool.state(block) & ~ignored) != flags) {
      return Broken("block ", block, " of the ", name, " list has state ",
                    pool.state(block));
    }
  }
  return absl::OkStatus();
}

absl::Status AuditLists(const PoolLists& pool, Census& census) {
  PAGED_RETURN_IF_ERROR(
      AuditList(pool, "free", pool.FreeBlocks(), 0, pool.num_free(), census));
  PAGED_RETURN_IF_ERROR(AuditList(pool, "cached", pool.IdleBlocks(),
                                  PoolLists::kIndexed, pool.num_idle(),
                                  census));
  std::vector<int32_t> quarantined;
  for (int i = 0; i < pool.num_quarantines(); ++i) {
    const std::vector<int32_t> blocks = pool.QuarantinedBlocks(i);
    quarantined.insert(quarantined.end(), blocks.begin(), blocks.end());
  }
  return AuditList(pool, "quarantine", quarantined, PoolLists::kQuarantined,
                   pool.num_quarantined(), census);
}

absl::Status AuditBlocks(const BlockManagerState& state, const Census& census) {
  int64_t num_indexed = 0;
  if (state.pool.state(kNullBlock) != 0)
    return Broken("the null block is held");
  for (int32_t block = 1; block < state.pool.num_blocks(); ++block) {
    const auto at = static_cast<std::size_t>(block);
    const uint32_t flags = state.pool.state(block);
    if ((flags & PoolLists::kReferences) != census.references[at]) {
      return Broken("block ", block, " has ", flags & PoolLists::kReferences,
                    " references; counted ", census.references[at]);
    }
    if (census.lists[at] != (census.references[at] == 0 ? 1 : 0)) {
      return Broken("block ", block, " is on ", census.lists[at],
                    " lists with ", census.references[at], " references");
    }
    if (census.references[at] > 0 && (flags & PoolLists::kQuarantined) != 0) {
      return Broken("block ", block, " is held and quarantined");
    }
    if (((flags & PoolLists::kCopyTarget) != 0) != census.is_target[at]) {
      return Broken("block ", block, " is marked wrongly as a copy's target");
    }
    if (!state.pool.IsIndexed(block)) continue;
    ++num_indexed;
    if (state.index.Find(state.index.KeyOf(block)) != block) {
      return Broken("block ", block, " is not found under its digest");
    }
  }
  if (num_indexed != state.index.size() ||
      num_indexed != state.index.CountEntries()) {
    return Broken("the prefix cache has ", state.index.CountEntries(),
                  " entries, says ", state.index.size(), ", and ", num_indexed,
                  " blocks are marked");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BlockManager::Audit() const {
  const BlockManagerState& state = *state_;
  Census census(static_cast<std::size_t>(state.pool.num_blocks()));
  for (int i = 0; i < state.sequences.max_seqs(); ++i) {
    const auto slot = static_cast<uint32_t>(i);
    if (state.sequences.at(slot).kind == SequenceKind::kClosed) continue;
    PAGED_RETURN_IF_ERROR(AuditRow(state, slot, census));
  }
  PAGED_RETURN_IF_ERROR(AuditCopies(state, census));
  PAGED_RETURN_IF_ERROR(AuditLists(state.pool, census));
  PAGED_RETURN_IF_ERROR(AuditBlocks(state, census));
  if (census.open != state.sequences.num_open()) {
    return Broken(state.sequences.num_open(), " rows are open; counted ",
                  census.open);
  }
  if (census.reserved != state.reserved || census.pinned != state.pinned) {
    return Broken("reserved and pinned are ", state.reserved, " and ",
                  state.pinned, "; counted ", census.reserved, " and ",
                  census.pinned);
  }
  return absl::OkStatus();
}

}  // namespace paged
