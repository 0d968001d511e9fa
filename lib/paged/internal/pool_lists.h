// Where each block of the pool is, and how many hold it.
#ifndef PAGED_LIB_PAGED_INTERNAL_POOL_LISTS_H_
#define PAGED_LIB_PAGED_INTERNAL_POOL_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paged/internal/huge_pages.h"

namespace paged::internal {

inline constexpr int32_t kNullBlock = 0;

// A block is held (references above 0), free (a stack), cached-idle (a list,
// least recently used first) or quarantined (a list for each step in flight).
// Lists are rings through a sentinel, so that a block leaves whichever it is on
// without a branch; sentinels have the numbers after the last block.
class PoolLists {
 public:
  static constexpr uint32_t kIndexed = 1u << 31;     // in the prefix cache
  static constexpr uint32_t kCopyTarget = 1u << 30;  // of a step not retired
  static constexpr uint32_t kQuarantined = 1u << 29;
  static constexpr uint32_t kReferences = kQuarantined - 1;

  PoolLists(int64_t num_blocks, int num_quarantines);

  int64_t num_blocks() const { return num_blocks_; }
  int64_t num_free() const { return num_free_; }
  int64_t num_idle() const { return num_idle_; }
  int64_t num_quarantined() const { return num_quarantined_; }
  int64_t num_available() const { return num_free_ + num_idle_; }

  uint32_t state(int32_t block) const { return states_[At(block)]; }
  bool IsIndexed(int32_t block) const { return state(block) & kIndexed; }
  bool IsIdle(int32_t block) const {
    return (state(block) & (kReferences | kQuarantined)) == 0;
  }
  // Only what one sequence holds, and nobody can find, may be written.
  bool IsWritable(int32_t block) const {
    return (state(block) & ~kCopyTarget) == 1;
  }

  // Each of these two gives its block one reference. The stack must not be
  // empty; nor the list, whose block is still indexed.
  int32_t PopFree() {
    const int32_t block = free_[At32(--num_free_)];
    states_[At(block)] = 1;
    return block;
  }
  int32_t PopOldestIdle();
  // The block that is popped next, and the one after another; there must be
  // one.
  int32_t OldestIdle() const { return links_[At(IdleSentinel())].next; }
  int32_t IdleAfter(int32_t block) const { return links_[At(block)].next; }
  void Prefetch(int32_t block) const {
    __builtin_prefetch(&states_[At(block)], 1);
    __builtin_prefetch(&links_[At(block)], 1);
  }

  void Reference(int32_t block) {
    uint32_t& state = states_[At(block)];
    if ((state & kReferences) == 0) Wake(block);
    ++state;
  }
  // For blocks that are held already.
  void ReferenceHeld(int32_t block) { ++states_[At(block)]; }

  void Unreference(int32_t block) {
    uint32_t& state = states_[At(block)];
    if (state == 1 && quarantine_ < 0) {
      state = 0;
      free_[At32(num_free_++)] = block;
    } else if ((--state & kReferences) == 0) {
      Settle(block);
    }
  }

  void SetIndexed(int32_t block) { states_[At(block)] |= kIndexed; }
  void SetCopyTarget(int32_t block) { states_[At(block)] |= kCopyTarget; }
  void ClearCopyTarget(int32_t block) { states_[At(block)] &= ~kCopyTarget; }

  // Blocks given back from now on wait in this quarantine; -1 for none.
  void set_quarantine(int quarantine) { quarantine_ = quarantine; }
  // Where targets of copies wait.
  void set_copy_quarantine(int quarantine) { copy_quarantine_ = quarantine; }
  void DrainQuarantine(int quarantine);

  // Takes the index flag from all blocks; idle ones become free, oldest first.
  void ForgetIndex();

  // For Audit: blocks of a list, in order.
  std::vector<int32_t> FreeBlocks() const;
  std::vector<int32_t> IdleBlocks() const { return ListFrom(IdleSentinel()); }
  std::vector<int32_t> QuarantinedBlocks(int quarantine) const {
    return ListFrom(QuarantineSentinel(quarantine));
  }
  int num_quarantines() const { return num_quarantines_; }

 private:
  friend struct BlockManagerAccess;
  struct Links {
    int32_t previous;
    int32_t next;
  };

  static std::size_t At(int32_t block) { return static_cast<uint32_t>(block); }
  static std::size_t At32(int64_t index) {
    return static_cast<std::size_t>(index);
  }
  int32_t IdleSentinel() const { return static_cast<int32_t>(num_blocks_); }
  int32_t QuarantineSentinel(int quarantine) const {
    return IdleSentinel() + 1 + quarantine;
  }

  // Off its list, to be referenced.
  void Wake(int32_t block) {
    uint32_t& state = states_[At(block)];
    Unlink(block);
    if (state & kQuarantined) {
      state &= ~kQuarantined;
      --num_quarantined_;
    } else {
      --num_idle_;
    }
  }
  void Settle(int32_t block);  // onto a list, without references
  void SettleAvailable(int32_t block);
  void PushBack(int32_t sentinel, int32_t block);
  void Unlink(int32_t block) {
    const Links links = links_[At(block)];
    links_[At(links.previous)].next = links.next;
    links_[At(links.next)].previous = links.previous;
  }
  std::vector<int32_t> ListFrom(int32_t sentinel) const;

  int64_t num_blocks_;
  int num_quarantines_;
  int64_t num_free_ = 0;
  int64_t num_idle_ = 0;
  int64_t num_quarantined_ = 0;
  int quarantine_ = -1;
  int copy_quarantine_ = 0;
  HugePageVector<uint32_t> states_;
  HugePageVector<int32_t> free_;
  HugePageVector<Links> links_;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_POOL_LISTS_H_
