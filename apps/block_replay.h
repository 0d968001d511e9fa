// What a log of events says about a pool: which row holds which block, step by
// step.
#ifndef PAGED_APPS_BLOCK_REPLAY_H_
#define PAGED_APPS_BLOCK_REPLAY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "apps/block_log.h"
#include "paged/block_manager_types.h"

namespace paged {

// A pool after one step.
struct ReplayFrame {
  int64_t step = 0;
  int64_t used = 0;    // blocks that rows hold
  int64_t cached = 0;  // that none holds, and the prefix cache can find
  int64_t shared = 0;  // that several rows hold
  int64_t wasted_slots = 0;
  double fragmentation = 0;  // wasted slots among those of sequences
  // Per block: 0 free, 1 cached, else 2 * number + (is shared), where sequences
  // are numbered from 1 in the order of their opening. Of the first
  // kMaxShownBlocks.
  std::vector<int32_t> cells;
};
inline constexpr int64_t kMaxShownBlocks = 4096;
// More steps than this are thinned out, evenly.
inline constexpr std::size_t kMaxFrames = 400;

struct ReplaySummary {
  LogPool pool;
  int64_t num_steps = 0;
  int64_t num_opened = 0;     // sequences, streams, pins; forks
  double mean_occupancy = 0;  // used blocks of all, over the steps
  double peak_occupancy = 0;
  double mean_cached = 0;  // cached blocks of all
  int64_t lookups = 0;     // blocks that were looked for
  int64_t hits = 0;
  double hit_rate = 0;
  double mean_fragmentation = 0;
  double mean_wasted_slots = 0;
  int64_t peak_shared = 0;
  int64_t stored = 0, evicted = 0, forked = 0, copied = 0, cleared = 0;
  // At the end of the log.
  int64_t used = 0, cached = 0, free = 0;
};

class BlockReplay {
 public:
  explicit BlockReplay(const LogPool& pool);

  // InvalidArgument for an event that cannot have happened.
  absl::Status Apply(const BlockEvent& event);

  ReplaySummary Summary() const;
  const LogPool& pool() const { return pool_; }
  // At most kMaxFrames, evenly spaced.
  const std::vector<ReplayFrame>& frames() const { return frames_; }

 private:
  struct Block {
    int32_t num_holders = 0;
    int32_t number = 0;  // of the sequence that took it last
    bool is_indexed = false;
  };
  struct Row {
    bool is_open = false;
    bool has_length = false;  // streams and pins have none
    int32_t number = 0;
    int64_t tokens = 0;
    std::vector<int32_t> blocks;
  };

  absl::Status CheckPlaces(const BlockEvent& event) const;
  absl::Status ApplyRow(const BlockEvent& event);
  absl::Status ApplyContent(const BlockEvent& event);
  absl::Status Fork(const BlockEvent& event);
  absl::Status Copy(const BlockEvent& event);
  void OpenRow(Row& row);
  void Hold(int32_t block, const Row& row);
  void Drop(int32_t block);
  void EndStep(int64_t step);
  void KeepFrame(ReplayFrame frame);
  Block& At(int32_t block) { return blocks_[static_cast<std::size_t>(block)]; }

  LogPool pool_;
  std::vector<Block> blocks_;
  std::vector<Row> rows_;
  std::vector<ReplayFrame> frames_;
  int64_t steps_per_frame_ = 1;
  int32_t last_number_ = 0;
  int64_t used_ = 0, cached_ = 0, shared_ = 0;
  ReplaySummary sums_;  // means are sums
};

}  // namespace paged

#endif  // PAGED_APPS_BLOCK_REPLAY_H_
