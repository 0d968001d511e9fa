// Steps in flight, and the copies that each must make.
#ifndef PAGED_LIB_PAGED_INTERNAL_STEP_LOG_H_
#define PAGED_LIB_PAGED_INTERNAL_STEP_LOG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paged/block_manager_types.h"

namespace paged::internal {

// Steps are numbered from 1 and retire in order: [1, retired] are done,
// (retired, submitted] are in flight, submitted + 1 is being built.
class StepLog {
 public:
  StepLog(int max_in_flight, int max_copies_per_step)
      : num_slots_(static_cast<uint64_t>(max_in_flight) + 1),
        max_copies_(static_cast<std::size_t>(max_copies_per_step)),
        num_copies_(num_slots_),
        copies_(num_slots_ * max_copies_) {}

  uint64_t retired() const { return retired_; }
  uint64_t submitted() const { return submitted_; }
  uint64_t building() const { return submitted_ + 1; }
  bool AnyInFlight() const { return retired_ < submitted_; }
  bool IsFull() const { return submitted_ - retired_ + 1 == num_slots_; }

  // Where a step keeps its copies, and its quarantine.
  int SlotOf(uint64_t step) const {
    return static_cast<int>(step % num_slots_);
  }
  int num_slots() const { return static_cast<int>(num_slots_); }

  absl::Span<const BlockCopy> copies(uint64_t step) const {
    const std::size_t slot = step % num_slots_;
    return {copies_.data() + slot * max_copies_, num_copies_[slot]};
  }
  bool HasRoomForCopy() const {
    return num_copies_[building() % num_slots_] < max_copies_;
  }
  void AddCopy(BlockCopy copy) {
    const std::size_t slot = building() % num_slots_;
    copies_[slot * max_copies_ + num_copies_[slot]++] = copy;
  }

  void Submit() {
    ++submitted_;
    num_copies_[building() % num_slots_] = 0;
  }
  void Retire(uint64_t step) { retired_ = step; }

 private:
  friend struct BlockManagerAccess;

  uint64_t num_slots_;
  std::size_t max_copies_;
  uint64_t retired_ = 0;
  uint64_t submitted_ = 0;
  std::vector<std::size_t> num_copies_;  // [num_slots]
  std::vector<BlockCopy> copies_;        // [num_slots, max_copies]
};

// The latest events, up to a capacity; what does not fit is counted.
class EventLog {
 public:
  EventLog(int capacity, EventDetail detail)
      : events_(static_cast<std::size_t>(capacity)),
        has_rows_(enabled() && detail == EventDetail::kRows) {}

  bool enabled() const { return !events_.empty(); }
  bool has_rows() const { return has_rows_; }
  std::size_t num_kept() const { return end_ - begin_; }
  int64_t num_dropped() const { return num_dropped_; }

  void Add(const BlockEvent& event) {
    if (!enabled()) return;
    if (end_ - begin_ == events_.size()) {
      ++num_dropped_;
    } else {
      events_[end_++ % events_.size()] = event;
    }
  }
  // One event for each of a row's blocks.
  void AddBlocks(BlockEventKind kind, uint32_t slot,
                 absl::Span<const int32_t> blocks) {
    if (!has_rows_) return;
    for (const int32_t block : blocks) {
      if (block != 0) Add({.kind = kind, .slot = slot, .block = block});
    }
  }
  void AddRow(const BlockEvent& event) {
    if (has_rows_) Add(event);
  }
  std::size_t Take(absl::Span<BlockEvent> events) {
    std::size_t num_taken = 0;
    while (begin_ < end_ && num_taken < events.size()) {
      events[num_taken++] = events_[begin_++ % events_.size()];
    }
    return num_taken;
  }

 private:
  std::vector<BlockEvent> events_;  // a ring
  bool has_rows_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  int64_t num_dropped_ = 0;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_STEP_LOG_H_
