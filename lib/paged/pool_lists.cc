#include "paged/internal/pool_lists.h"

namespace paged::internal {

PoolLists::PoolLists(int64_t num_blocks, int num_quarantines)
    : num_blocks_(num_blocks),
      num_quarantines_(num_quarantines),
      states_(At32(num_blocks)),
      free_(At32(num_blocks)),
      links_(At32(num_blocks + 1 + num_quarantines)) {
  // The lowest on top: the first sequences get neighbouring blocks.
  for (int64_t block = num_blocks; --block > kNullBlock;) {
    free_[At32(num_free_++)] = static_cast<int32_t>(block);
  }
  for (int64_t i = num_blocks; i < num_blocks + 1 + num_quarantines; ++i) {
    const auto sentinel = static_cast<int32_t>(i);
    links_[At(sentinel)] = {sentinel, sentinel};
  }
}

int32_t PoolLists::PopOldestIdle() {
  const int32_t block = OldestIdle();
  Unlink(block);
  --num_idle_;
  states_[At(block)] = 1;
  return block;
}

void PoolLists::Settle(int32_t block) {
  uint32_t& state = states_[At(block)];
  const int quarantine = state & kCopyTarget ? copy_quarantine_ : quarantine_;
  if (quarantine < 0) return SettleAvailable(block);
  state |= kQuarantined;
  PushBack(QuarantineSentinel(quarantine), block);
  ++num_quarantined_;
}

void PoolLists::SettleAvailable(int32_t block) {
  if (IsIndexed(block)) {
    PushBack(IdleSentinel(), block);
    ++num_idle_;
  } else {
    free_[At32(num_free_++)] = block;
  }
}

void PoolLists::DrainQuarantine(int quarantine) {
  const int32_t sentinel = QuarantineSentinel(quarantine);
  while (links_[At(sentinel)].next != sentinel) {
    const int32_t block = links_[At(sentinel)].next;
    Unlink(block);
    --num_quarantined_;
    states_[At(block)] &= ~kQuarantined;
    SettleAvailable(block);
  }
}

void PoolLists::ForgetIndex() {
  while (num_idle_ > 0) {
    const int32_t block = PopOldestIdle();
    states_[At(block)] = 0;
    free_[At32(num_free_++)] = block;
  }
  for (uint32_t& state : states_) state &= ~kIndexed;
}

void PoolLists::PushBack(int32_t sentinel, int32_t block) {
  const int32_t last = links_[At(sentinel)].previous;
  links_[At(block)] = {last, sentinel};
  links_[At(last)].next = block;
  links_[At(sentinel)].previous = block;
}

std::vector<int32_t> PoolLists::FreeBlocks() const {
  return {free_.begin(), free_.begin() + num_free_};
}

std::vector<int32_t> PoolLists::ListFrom(int32_t sentinel) const {
  std::vector<int32_t> blocks;
  // A broken list may be a loop that misses the sentinel.
  for (int32_t at = links_[At(sentinel)].next;
       at != sentinel && blocks.size() <= states_.size();
       at = links_[At(at)].next) {
    blocks.push_back(at);
  }
  return blocks;
}

}  // namespace paged::internal
