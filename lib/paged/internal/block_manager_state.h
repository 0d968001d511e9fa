// What a BlockManager is made of. Its operations check first and change after,
// so that a failing call changes nothing.
#ifndef PAGED_LIB_PAGED_INTERNAL_BLOCK_MANAGER_STATE_H_
#define PAGED_LIB_PAGED_INTERNAL_BLOCK_MANAGER_STATE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "paged/block_manager.h"
#include "paged/internal/pool_lists.h"
#include "paged/internal/prefix_index.h"
#include "paged/internal/sequence_table.h"
#include "paged/internal/step_log.h"

namespace paged::internal {

struct PrefixMatch {
  int64_t num_blocks = 0;
  int64_t num_idle = 0;  // of these, available until they are referenced
  ContentId last_content = kRootContent;
};

// Whether an append fits, and if not, why: without a message, which would have
// to be allocated.
enum class AppendVerdict {
  kFits,
  kCountBelowOne,
  kNotASequence,
  kChunkTooLong,
  kPastTheRow,
  kWrittenByThisStep,
  kTooManyCopies,
  kTooFewBlocks,
};

struct AppendNeeds {
  AppendVerdict verdict = AppendVerdict::kFits;
  bool copies_last_block = false;
  int64_t num_new_columns = 0;
};

struct BlockManagerState {
  explicit BlockManagerState(const BlockManagerOptions& opts);

  int64_t ColumnsFor(int64_t num_tokens) const {
    return (num_tokens + options.block_size - 1) / options.block_size;
  }
  int64_t max_tokens_per_row() const {
    return int64_t{options.max_blocks_per_seq} * options.block_size;
  }

  // The oldest cached block is evicted when no block is free. There must be
  // one available.
  int32_t TakeBlock() {
    return pool.num_free() > 0 ? pool.PopFree() : EvictOldest();
  }
  int32_t EvictOldest();
  void PrefetchEvictions() const;
  // Appends `num_columns` taken blocks to the row.
  void TakeColumns(Sequence& sequence, int64_t num_columns);
  // Drops the row's columns from `num_columns` on, last first: a cached tail is
  // then evicted before what leads to it.
  void DropColumns(Sequence& sequence, int32_t num_columns);
  void CloseRow(Sequence& sequence);

  // Follows `prefix` up to the first miss; writes what it finds to `row` if
  // that is not null.
  PrefixMatch Match(const Prefix& prefix, int64_t max_blocks,
                    int32_t* row) const;
  int64_t MatchableBlocks(const SequenceRequest& request) const;
  void AdoptColumns(Sequence& sequence, const PrefixMatch& match);

  AppendNeeds NeedsOf(const Sequence& sequence, int64_t num_tokens) const;
  absl::Status ErrorOf(const AppendNeeds& needs, int64_t num_tokens) const;
  void CopyLastBlock(Sequence& sequence);

  absl::Status CheckPrefix(const Prefix& prefix) const;
  absl::Status CheckRequest(const SequenceRequest& request) const;

  // Streams.
  int64_t StreamColumnsInUse(const Sequence& stream) const;
  int32_t StreamColumn(const Sequence& stream, int64_t block) const;
  int64_t StreamFirstLiveBlock(const Sequence& stream) const;
  void AppendToStream(Sequence& stream, int64_t num_tokens);

  // [first, last) of the logical blocks that CsrTable lists after the sinks.
  int64_t NumListedColumns(const Sequence& sequence) const;
  int64_t LastBlockLen(const Sequence& sequence) const;
  // Tokens of the columns that CsrTable lists.
  int32_t ListedLength(const Sequence& sequence) const;

  BlockManagerOptions options;
  PoolLists pool;
  PrefixIndex index;
  SequenceTable sequences;
  StepLog steps;
  EventLog events;

  uint64_t cache_epoch = 0;  // grows with each reset
  int64_t reserved = 0;      // blocks of streams, not reached yet
  int64_t pinned = 0;        // columns of pins
  int64_t lookups = 0;
  int64_t hits = 0;
  int64_t evictions = 0;
  int64_t copies = 0;
};

absl::Status StaleHandle(SequenceHandle handle);
absl::Status WrongKind(const char* rule);

// For DeviceTable, and for tests, which look into a manager and break it.
struct BlockManagerAccess {
  static const BlockManagerState& State(const BlockManager& manager) {
    return *manager.state_;
  }
  static BlockManagerState& State(BlockManager& manager) {
    return *manager.state_;
  }
  static HugePageVector<uint32_t>& BlockStates(BlockManagerState& state) {
    return state.pool.states_;
  }
  static HugePageVector<int32_t>& FreeStack(BlockManagerState& state) {
    return state.pool.free_;
  }
  static int64_t& NumFree(BlockManagerState& state) {
    return state.pool.num_free_;
  }
  static int64_t& NumIdle(BlockManagerState& state) {
    return state.pool.num_idle_;
  }
  static int64_t& NumIndexed(BlockManagerState& state) {
    return state.index.size_;
  }
  static std::size_t& NumClosed(BlockManagerState& state) {
    return state.sequences.num_closed_;
  }
  // Of a manager without steps: they begin behind `retired`, a multiple of
  // steps.num_slots().
  static void SkipSteps(BlockManagerState& state, uint64_t retired) {
    state.steps.submitted_ = state.steps.retired_ = retired;
  }
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_BLOCK_MANAGER_STATE_H_
