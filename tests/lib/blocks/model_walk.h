// A random walk of a BlockManager beside its oracle and a device that lags.
#ifndef PAGED_TESTS_LIB_BLOCKS_MODEL_WALK_H_
#define PAGED_TESTS_LIB_BLOCKS_MODEL_WALK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/fake_device.h"
#include "tests/lib/blocks/naive_manager.h"

namespace paged::testing {

struct WalkOptions {
  BlockManagerOptions manager;
  uint64_t seed = 1;
  int64_t num_operations = 0;
  // Where choices come from if not empty, instead of the seed; the walk ends
  // with them.
  absl::Span<const uint8_t> choices = {};
  int audit_every = 1;
  int64_t longest_prompt = 40;
  // Of the digest: 256, or fewer to make collisions, which need verify_tokens.
  int digest_bits = 256;
};

class ModelWalk {
 public:
  explicit ModelWalk(const WalkOptions& options);

  // Returns what went wrong first, or nothing. Ends with an empty pool: not a
  // block may be missing.
  std::string Run();

  int64_t num_hits() const { return num_hits_; }
  int64_t num_refused() const { return num_refused_; }
  int64_t num_copies() const { return num_copies_; }
  int64_t num_evictions() const { return manager_->Statistics().evictions; }

 private:
  using Sequence = NaiveSequence;
  using Kind = NaiveSequence::Kind;

  void Operate();
  void Open();
  void OpenStream();
  void Append();
  void Fork();
  void Cut();
  void Slide();
  void Commit();
  void Pin();
  void Release(std::size_t at);
  void Reset();
  void Submit();
  void RunDevice();
  void Retire();
  void UseStaleHandle();
  void Drain();

  uint64_t Random(uint64_t below);
  bool HasChoices() const {
    return options_.choices.empty() || next_choice_ < options_.choices.size();
  }
  Sequence* Pick(Kind kind);
  void AddToken(Sequence& sequence, int32_t token);
  void Truncate(Sequence& sequence, int64_t length);
  Prefix PrefixOf(const Sequence& sequence) const;
  std::vector<DeviceSlot> SlotsOf(const Sequence& sequence, int64_t begin,
                                  int64_t end);
  std::vector<DeviceSlot> ReadsOf(const Sequence& sequence);
  std::vector<DeviceStep> BuildStep(const SubmittedStep& submitted);

  void Fail(const std::string& what);
  // Compares success with the prediction, and, where it fails, the manager with
  // what it was before; returns whether it was success.
  bool Agree(const char* what, std::optional<bool> predicted,
             const std::function<absl::Status()>& call);
  void CompareRow(const Sequence& sequence);
  void CompareCounts();
  void CheckAll();

  WalkOptions options_;
  std::mt19937_64 random_;
  std::size_t next_choice_ = 0;
  std::optional<BlockManager> manager_;
  std::unique_ptr<NaiveManager> naive_;  // null where nothing is predicted
  FakeDevice device_;
  std::vector<std::unique_ptr<Sequence>> open_;
  std::vector<int> queue_of_copy_;  // of the step being built
  std::vector<SequenceHandle> stale_;
  uint64_t submitted_ = 0;
  uint64_t retired_ = 0;
  int64_t num_done_ = 0;
  int64_t num_hits_ = 0;
  int64_t num_refused_ = 0;
  int64_t num_copies_ = 0;
  std::string failure_;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_MODEL_WALK_H_
