#include "tests/lib/blocks/naive_manager.h"

#include <algorithm>

namespace paged::testing {

uint64_t KvAfter(uint64_t before, int32_t token) {
  uint64_t value = before * 0x9E3779B97F4A7C15u + static_cast<uint32_t>(token);
  value ^= value >> 29;
  value *= 0xBF58476D1CE4E5B9u;
  return value ^ (value >> 32);
}

NaiveManager::NaiveManager(const BlockManagerOptions& options)
    : options_(options) {
  for (int64_t block = options.num_blocks - 1; block >= 1; --block) {
    free_.push_back(static_cast<int32_t>(block));
  }
}

uint64_t NaiveManager::KeyOf(const Sequence& sequence, int64_t block) const {
  return sequence
      .kv[static_cast<std::size_t>((block + 1) * options_.block_size - 1)];
}

bool NaiveManager::IsTarget(int32_t block) const {
  for (const auto& [step, copies] : copies_) {
    for (const BlockCopy& copy : copies) {
      if (copy.destination == block) return true;
    }
  }
  return false;
}

int32_t NaiveManager::Take() {
  int32_t block = 0;
  if (!free_.empty()) {
    block = free_.back();
    free_.pop_back();
  } else {
    block = idle_.front();
    idle_.pop_front();
    index_.erase(keys_[block]);
    keys_.erase(block);
    ++evictions_;
  }
  holders_[block] = 1;
  return block;
}

void NaiveManager::Hold(int32_t block) {
  if (holders_[block]++ > 0) return;
  std::erase(idle_, block);
  for (auto& [step, blocks] : quarantine_) std::erase(blocks, block);
}

void NaiveManager::MakeAvailable(int32_t block) {
  if (keys_.contains(block)) {
    idle_.push_back(block);
  } else {
    free_.push_back(block);
  }
}

void NaiveManager::Drop(int32_t block) {
  if (--holders_[block] > 0) return;
  if (IsTarget(block)) {
    quarantine_[building()].push_back(block);
  } else if (options_.reuse == ReusePolicy::kAfterRetire &&
             retired_ < submitted_) {
    quarantine_[submitted_].push_back(block);
  } else {
    MakeAvailable(block);
  }
}

void NaiveManager::Reset() {
  index_.clear();
  keys_.clear();
  free_.insert(free_.end(), idle_.begin(), idle_.end());
  idle_.clear();
  ++cache_epoch_;
}

bool NaiveManager::Submit() {
  if (static_cast<int>(submitted_ - retired_) == options_.max_steps_in_flight) {
    return false;
  }
  ++submitted_;
  return true;
}

void NaiveManager::Retire(uint64_t step) {
  std::vector<BlockCopy> done;
  for (uint64_t i = retired_ + 1; i <= step; ++i) {
    for (const BlockCopy& copy : copies_[i]) done.push_back(copy);
    copies_.erase(i);
    for (const int32_t block : quarantine_[i]) MakeAvailable(block);
    quarantine_.erase(i);
  }
  retired_ = step;
  for (const BlockCopy& copy : done) Drop(copy.source);
}

int64_t NaiveManager::num_quarantined() const {
  std::size_t sum = 0;
  for (const auto& [step, blocks] : quarantine_) sum += blocks.size();
  return static_cast<int64_t>(sum);
}

}  // namespace paged::testing
