// What a replay keeps of each step.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "apps/block_replay.h"

namespace paged {

void BlockReplay::EndStep(int64_t step) {
  ReplayFrame frame;
  frame.step = step;
  frame.used = used_;
  frame.cached = cached_;
  frame.shared = shared_;
  int64_t slots = 0;
  for (const Row& row : rows_) {
    if (!row.is_open || !row.has_length) continue;
    // A row that slides keeps no block for what it gave back.
    const int64_t partial = row.tokens % pool_.block_size;
    const int64_t held =
        static_cast<int64_t>(row.blocks.size()) * pool_.block_size;
    slots += held;
    const int64_t last = partial == 0 ? 0 : pool_.block_size - partial;
    frame.wasted_slots += std::min(last, held);
  }
  if (slots > 0) {
    frame.fragmentation =
        static_cast<double>(frame.wasted_slots) / static_cast<double>(slots);
  }
  const double blocks = static_cast<double>(pool_.num_blocks - 1);
  const double occupancy = static_cast<double>(used_) / blocks;
  sums_.mean_occupancy += occupancy;
  sums_.peak_occupancy = std::max(sums_.peak_occupancy, occupancy);
  sums_.mean_cached += static_cast<double>(cached_) / blocks;
  sums_.mean_fragmentation += frame.fragmentation;
  sums_.mean_wasted_slots += static_cast<double>(frame.wasted_slots);
  sums_.peak_shared = std::max(sums_.peak_shared, shared_);
  if (sums_.num_steps++ % steps_per_frame_ == 0) KeepFrame(std::move(frame));
}

void BlockReplay::KeepFrame(ReplayFrame frame) {
  const auto shown =
      static_cast<std::size_t>(std::min(kMaxShownBlocks, pool_.num_blocks));
  frame.cells.resize(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Block& block = blocks_[i];
    frame.cells[i] = block.num_holders == 0
                         ? (block.is_indexed ? 1 : 0)
                         : 2 * block.number + (block.num_holders > 1 ? 1 : 0);
  }
  frames_.push_back(std::move(frame));
  if (frames_.size() <= kMaxFrames) return;
  steps_per_frame_ *= 2;
  for (std::size_t i = 0; 2 * i < frames_.size(); ++i) {
    if (i > 0) frames_[i] = std::move(frames_[2 * i]);
  }
  frames_.resize((frames_.size() + 1) / 2);
}

ReplaySummary BlockReplay::Summary() const {
  ReplaySummary summary = sums_;
  if (summary.num_steps > 0) {
    const auto steps = static_cast<double>(summary.num_steps);
    summary.mean_occupancy /= steps;
    summary.mean_cached /= steps;
    summary.mean_fragmentation /= steps;
    summary.mean_wasted_slots /= steps;
  }
  if (summary.lookups > 0) {
    summary.hit_rate = static_cast<double>(summary.hits) /
                       static_cast<double>(summary.lookups);
  }
  summary.used = used_;
  summary.cached = cached_;
  summary.free = pool_.num_blocks - 1 - used_ - cached_;
  return summary;
}

}  // namespace paged
