#include "tests/lib/blocks/snapshot.h"

#include <utility>

#include "paged/internal/block_manager_state.h"

namespace paged::testing {
namespace {

using internal::BlockManagerState;
using internal::Sequence;

class Recorder {
 public:
  template <typename... Values>
  void Add(Values... values) {
    (words_.push_back(static_cast<uint64_t>(values)), ...);
  }
  void AddBlocks(const std::vector<int32_t>& blocks) {
    Add(blocks.size());
    for (const int32_t block : blocks) Add(block);
  }
  std::vector<uint64_t> Take() { return std::move(words_); }

 private:
  std::vector<uint64_t> words_;
};

void AddSequence(const BlockManagerState& state, uint32_t slot,
                 Recorder& recorder) {
  const Sequence& sequence = state.sequences.at(slot);
  recorder.Add(sequence.generation, sequence.kind);
  if (sequence.kind == internal::SequenceKind::kClosed) return;
  recorder.Add(sequence.length, sequence.owned_end, sequence.last_write_step,
               sequence.num_columns, sequence.committed_blocks,
               sequence.computed, sequence.cache_epoch, sequence.last_content,
               sequence.slid.begin, sequence.slid.end, sequence.in_changed_rows,
               sequence.changed.begin, sequence.changed.end,
               sequence.changed_slid.begin, sequence.changed_slid.end,
               sequence.window, sequence.max_chunk, sequence.chunk_begin,
               sequence.high_water, sequence.num_sink_columns);
  const int32_t* row = state.sequences.Row(slot);
  recorder.AddBlocks({row, row + sequence.num_columns});
}

}  // namespace

std::vector<uint64_t> SnapshotOf(const BlockManager& manager) {
  const BlockManagerState& state = internal::BlockManagerAccess::State(manager);
  Recorder recorder;
  recorder.AddBlocks(state.pool.FreeBlocks());
  recorder.AddBlocks(state.pool.IdleBlocks());
  for (int i = 0; i < state.pool.num_quarantines(); ++i) {
    recorder.AddBlocks(state.pool.QuarantinedBlocks(i));
  }
  for (int32_t block = 0; block < state.pool.num_blocks(); ++block) {
    recorder.Add(state.pool.state(block));
    if (!state.pool.IsIndexed(block)) continue;
    recorder.Add(state.index.digest(block).words[0],
                 state.index.content(block));
  }
  recorder.Add(state.index.size(), state.index.CountEntries());
  recorder.Add(state.sequences.num_open());
  if (state.sequences.HasClosed()) recorder.Add(state.sequences.NextSlot());
  for (int i = 0; i < state.sequences.max_seqs(); ++i) {
    AddSequence(state, static_cast<uint32_t>(i), recorder);
  }
  recorder.Add(state.steps.retired(), state.steps.submitted());
  for (uint64_t step = state.steps.retired() + 1;
       step <= state.steps.building(); ++step) {
    for (const BlockCopy& copy : state.steps.copies(step)) {
      recorder.Add(copy.source, copy.destination);
    }
  }
  recorder.Add(state.cache_epoch, state.reserved, state.pinned, state.lookups,
               state.hits, state.evictions, state.copies,
               state.events.num_kept(), state.events.num_dropped());
  return recorder.Take();
}

}  // namespace paged::testing
