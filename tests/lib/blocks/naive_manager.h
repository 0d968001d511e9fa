// What a block manager does, in plain vectors and maps: the oracle of the
// model walk. It predicts every row, hence every eviction and every hit.
#ifndef PAGED_TESTS_LIB_BLOCKS_NAIVE_MANAGER_H_
#define PAGED_TESTS_LIB_BLOCKS_NAIVE_MANAGER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "paged/block_manager.h"

namespace paged::testing {

// The value that the KV memory holds for a token: a function of the whole
// prefix. A key of the prefix cache that ignored what comes before a block
// would be noticed.
uint64_t KvAfter(uint64_t before, int32_t token);

struct NaiveSequence {
  enum class Kind { kSequence, kStream, kPin };

  Kind kind = Kind::kSequence;
  SequenceHandle handle;
  int domain = 0;
  int queue = 0;  // of the device, that runs its steps
  std::vector<int32_t> tokens;
  std::vector<uint64_t> kv;  // one per token
  std::vector<BlockDigest> digests;

  std::vector<int32_t> row;  // 0 where it was slid
  int64_t computed = 0;
  int64_t committed = 0;  // blocks
  int64_t slid_begin = 0, slid_end = 0;
  uint64_t last_write_step = 0;
  int cache_epoch = 0;

  int64_t written = 0;   // tokens that a submitted step writes
  int64_t finished = 0;  // tokens of steps that retired
  std::deque<std::pair<uint64_t, int64_t>> marks;  // of steps: length by then

  StreamRequest stream = {};
  int64_t chunk_begin = 0, high_water = 0;

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
};

class NaiveManager {
 public:
  explicit NaiveManager(const BlockManagerOptions& options);

  using Sequence = NaiveSequence;
  using Kind = NaiveSequence::Kind;

  // Each says whether the call must succeed, and if so, does it.
  bool Open(Sequence& sequence, int64_t lookahead, int64_t* cached_blocks);
  bool OpenStream(Sequence& sequence);
  bool Append(Sequence& sequence, int64_t num_tokens);
  bool Fork(const Sequence& parent, Sequence& child);
  bool Cut(Sequence& sequence, int64_t length, int64_t least);
  bool RollbackStream(Sequence& sequence, int64_t length);
  void Slide(Sequence& sequence, int64_t window, int64_t sink);
  void Commit(Sequence& sequence, int64_t num_computed);
  bool Pin(const Sequence& like, int64_t num_blocks, Sequence& pin);
  void Release(Sequence& sequence);  // pins too; then it is closed
  void Reset();
  bool Submit();
  void Retire(uint64_t step);

  int64_t Columns(int64_t tokens) const {
    return (tokens + options_.block_size - 1) / options_.block_size;
  }
  int64_t Matching(const Sequence& sequence, int64_t most) const;
  int64_t IdleAmong(const Sequence& sequence, int64_t num_blocks) const;
  int64_t available() const {
    return static_cast<int64_t>(free_.size() + idle_.size());
  }
  bool HasRoom() const { return num_open_ < options_.max_seqs; }
  uint64_t building() const { return submitted_ + 1; }
  uint64_t retired() const { return retired_; }
  const std::vector<int32_t>& free() const { return free_; }
  const std::deque<int32_t>& idle() const { return idle_; }
  int64_t num_quarantined() const;
  const std::vector<BlockCopy>& copies() { return copies_[building()]; }
  int64_t evictions() const { return evictions_; }

 private:
  bool CanEverHold(int64_t columns) const {
    return columns <= options_.max_blocks_per_seq &&
           columns < options_.num_blocks;
  }
  uint64_t KeyOf(const Sequence& sequence, int64_t block) const;
  bool IsTarget(int32_t block) const;
  int32_t Take();
  void Hold(int32_t block);
  void Drop(int32_t block);
  void MakeAvailable(int32_t block);

  BlockManagerOptions options_;
  int num_open_ = 0;
  int cache_epoch_ = 0;
  int64_t evictions_ = 0;
  uint64_t retired_ = 0;
  uint64_t submitted_ = 0;
  std::map<int32_t, int> holders_;
  std::vector<int32_t> free_;  // the last is next
  std::deque<int32_t> idle_;   // the first is next
  std::map<uint64_t, std::vector<int32_t>> quarantine_;
  std::map<uint64_t, std::vector<BlockCopy>> copies_;
  std::map<uint64_t, int32_t> index_;
  std::map<int32_t, uint64_t> keys_;  // of indexed blocks
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_NAIVE_MANAGER_H_
