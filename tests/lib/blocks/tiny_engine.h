// An engine around a BlockManager: requests arrive, share prefixes, fork,
// draft, are preempted and cancelled, and a tiny model computes their tokens
// through the paged kernels.
#ifndef PAGED_TESTS_LIB_BLOCKS_TINY_ENGINE_H_
#define PAGED_TESTS_LIB_BLOCKS_TINY_ENGINE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "paged/cpu_backend.h"
#include "paged/device_table.h"
#include "tests/lib/blocks/tiny_model.h"

namespace paged::testing {

struct EngineRequest {
  std::vector<int32_t> prompt;
  int num_generated = 0;          // tokens to generate
  int num_samples = 1;            // continuations that share the prompt
  int cancelled_after = 1 << 30;  // generated tokens
  bool drafts = false;            // computes wrong tokens and rolls them back
};

// A continuation of a request. The first token that sample `sample` generates
// is the model's, plus `sample`: so that samples differ.
struct EngineSample {
  EngineRequest request;
  int sample = 0;
  std::vector<int32_t> tokens;   // prompt, and what was generated
  std::vector<Hidden> computed;  // per token, where has_computed
  std::vector<bool> has_computed;

  int num_generated() const {
    return static_cast<int>(tokens.size() - request.prompt.size());
  }
};

struct EngineCounts {
  int64_t steps = 0, tokens = 0, cached_tokens = 0;
  int64_t finished = 0, cancelled = 0, preempted = 0, forked = 0, drafts = 0;
};

class TinyEngine {
 public:
  static constexpr int kBatch = 24;
  static constexpr int kBlockSize = 4;
  static constexpr int64_t kBlocks = 72;

  explicit TinyEngine(const TinyModel& model);

  void Submit(EngineRequest request);
  bool IsIdle() const { return waiting_.empty() && running_.empty(); }
  // One step; what finished or was cancelled by it. Errors abort.
  std::vector<EngineSample> Step();
  void RetireAll();

  BlockManager& manager() { return manager_; }
  const EngineCounts& counts() const { return counts_; }

 private:
  struct Running {
    EngineSample sample;
    SequenceHandle handle;
    int64_t num_fed = 0;    // tokens that have been computed
    bool has_slot = false;  // for the next token
    bool is_draft = false;  // the token of this step is wrong
  };

  void Admit();
  void GiveSlots();
  void Preempt(std::size_t index);
  void RunModel();
  void ForkSamples();
  void CommitComputed(const Running& running);
  int32_t TokenOf(const Running& running) const;
  // Takes the results of the step; false if the sample has ended.
  bool Advance(Running& running, const Hidden& x);

  const TinyModel& model_;
  std::unique_ptr<Backend> backend_;
  BlockManager manager_;
  DeviceTable table_;
  DecodePlan plan_;
  std::array<std::vector<float>, kLayers> keys_, values_;
  std::vector<Hidden> hidden_;
  std::deque<EngineSample> waiting_;
  std::vector<Running> running_;
  std::mt19937 random_{21};
  EngineCounts counts_;
  uint64_t last_step_ = 0;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_TINY_ENGINE_H_
