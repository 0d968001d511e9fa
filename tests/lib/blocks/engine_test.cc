// Manager, device table, appends, copies and decode as an engine uses them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "tests/lib/blocks/tiny_engine.h"

namespace paged::testing {
namespace {

// Prompts of 1 to 40 tokens, most of which begin with one of eight others.
class Requests {
 public:
  Requests() {
    for (std::vector<int32_t>& prefix : prefixes_) {
      prefix = Tokens(8 + random_() % 25);
    }
  }

  EngineRequest Next() {
    EngineRequest request;
    if (random_() % 3 != 0) request.prompt = prefixes_[random_() % 8];
    for (const int32_t token : Tokens(1 + random_() % 12)) {
      request.prompt.push_back(token);
    }
    request.num_generated = static_cast<int>(1 + random_() % 16);
    if (random_() % 6 == 0) request.num_samples = 3;
    if (random_() % 8 == 0) {
      request.cancelled_after = static_cast<int>(random_() % 8);
    }
    request.drafts = random_() % 4 == 0;
    return request;
  }

 private:
  std::vector<int32_t> Tokens(uint64_t count) {
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) {
      token = static_cast<int32_t>(random_() % kVocabulary);
    }
    return tokens;
  }

  std::mt19937_64 random_{3};
  std::vector<int32_t> prefixes_[8];
};

// Every state that the engine computed, and every token that it chose, equals
// that of the sequence alone in contiguous caches, bit for bit.
void ExpectAsAlone(const TinyModel& model, const EngineSample& sample) {
  ContiguousRun run(model);
  const std::size_t prompt = sample.request.prompt.size();
  for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
    const Hidden x = run.Feed(sample.tokens[i]);
    if (sample.has_computed[i]) {
      ASSERT_EQ(std::memcmp(&x, &sample.computed[i], sizeof(x)), 0)
          << "token " << i << " of " << sample.tokens.size();
    }
    if (i + 1 < prompt || i + 1 == sample.tokens.size()) continue;
    const int32_t offset = i + 1 == prompt ? sample.sample : 0;
    ASSERT_EQ(sample.tokens[i + 1], (model.Predict(x) + offset) % kVocabulary)
        << "after token " << i;
  }
}

TEST(EngineTest, TwoThousandRequestsEqualContiguousCachesAndLeaveThePoolFull) {
  const TinyModel model;
  TinyEngine engine(model);
  Requests requests;
  std::mt19937 random(9);
  int num_submitted = 0;
  int64_t num_samples = 0, num_ended = 0;
  while (num_submitted < 2000 || !engine.IsIdle()) {
    // Arrivals in bursts, with pauses between them.
    if (random() % 4 == 0) {
      for (uint64_t i = random() % 12; i > 0 && num_submitted < 2000; --i) {
        EngineRequest request = requests.Next();
        // What is cancelled before its first token does not fork.
        num_samples += request.cancelled_after == 0 ? 1 : request.num_samples;
        engine.Submit(std::move(request));
        ++num_submitted;
      }
    }
    for (const EngineSample& sample : engine.Step()) {
      ++num_ended;
      ASSERT_NO_FATAL_FAILURE(ExpectAsAlone(model, sample));
    }
    if (engine.counts().steps % 500 == 0) {
      ASSERT_TRUE(engine.manager().Audit().ok()) << engine.manager().Audit();
    }
  }
  engine.RetireAll();

  const EngineCounts& counts = engine.counts();
  EXPECT_EQ(num_ended, num_samples);
  EXPECT_EQ(num_ended, counts.finished + counts.cancelled);
  EXPECT_GT(counts.finished, 1500);
  EXPECT_GT(counts.cancelled, 50);
  EXPECT_GT(counts.preempted, 100);
  EXPECT_GT(counts.forked, 200);
  EXPECT_GT(counts.drafts, 200);
  EXPECT_GT(counts.cached_tokens, 5000);
  const BlockStatistics statistics = engine.manager().Statistics();
  EXPECT_GT(statistics.copies, 200);
  EXPECT_GT(statistics.evictions, 1000);
  EXPECT_EQ(statistics.free + statistics.cached, TinyEngine::kBlocks - 1);
  EXPECT_EQ(statistics.open, 0);
  EXPECT_TRUE(engine.manager().Audit().ok()) << engine.manager().Audit();
}

}  // namespace
}  // namespace paged::testing
