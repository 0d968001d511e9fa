#include <algorithm>

#include "absl/strings/str_cat.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"

namespace paged {

using internal::BlockManagerState;
using internal::StepLog;

namespace {

void SetQuarantines(BlockManagerState& state) {
  const StepLog& steps = state.steps;
  const bool waits =
      state.options.reuse == ReusePolicy::kAfterRetire && steps.AnyInFlight();
  state.pool.set_quarantine(waits ? steps.SlotOf(steps.submitted()) : -1);
  state.pool.set_copy_quarantine(steps.SlotOf(steps.building()));
}

void AddStepEvents(BlockManagerState& state) {
  if (!state.events.has_rows()) return;
  for (int i = 0; i < state.sequences.max_seqs(); ++i) {
    const auto slot = static_cast<uint32_t>(i);
    const internal::Sequence& sequence = state.sequences.at(slot);
    if (sequence.kind != internal::SequenceKind::kSequence) continue;
    state.events.Add({.kind = BlockEventKind::kLength,
                      .slot = slot,
                      .number = sequence.length});
  }
  state.events.Add({.kind = BlockEventKind::kStep,
                    .number = static_cast<int64_t>(state.steps.building())});
}

}  // namespace

absl::Span<const BlockCopy> BlockManager::copies() const {
  return state_->steps.copies(state_->steps.building());
}

absl::StatusOr<SubmittedStep> BlockManager::SubmitStep() {
  StepLog& steps = state_->steps;
  if (steps.IsFull()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("at most max_steps_in_flight may be; got ",
                     state_->options.max_steps_in_flight));
  }
  const uint64_t id = steps.building();
  AddStepEvents(*state_);
  steps.Submit();
  SetQuarantines(*state_);
  return SubmittedStep{.id = id, .copies = steps.copies(id)};
}

absl::Status BlockManager::RetireStep(uint64_t id) {
  BlockManagerState& state = *state_;
  StepLog& steps = state.steps;
  if (id <= steps.retired() || id > steps.submitted()) {
    return absl::OutOfRangeError(absl::StrCat(
        "a step must be in flight to retire, that is above ", steps.retired(),
        " and at most ", steps.submitted(), "; got ", id));
  }
  const uint64_t first = steps.retired() + 1;
  for (uint64_t step = first; step <= id; ++step) {
    for (const BlockCopy& copy : steps.copies(step)) {
      state.pool.ClearCopyTarget(copy.destination);
    }
    state.pool.DrainQuarantine(steps.SlotOf(step));
  }
  steps.Retire(id);
  SetQuarantines(state);
  // Sources last: one that nobody else holds may still be read by a later step.
  for (uint64_t step = first; step <= id; ++step) {
    for (const BlockCopy& copy : steps.copies(step)) {
      state.pool.Unreference(copy.source);
    }
  }
  return absl::OkStatus();
}

std::size_t BlockManager::TakeTableChanges(absl::Span<TableChange> changes) {
  return state_->sequences.TakeChanges(changes);
}

std::size_t BlockManager::TakeEvents(absl::Span<BlockEvent> events) {
  return state_->events.Take(events);
}

}  // namespace paged
