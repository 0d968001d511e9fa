// Windows, chunks, sinks, caps, slopes and biases: what holds for each of them,
// and for all at once.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"

namespace paged::testing {
namespace {

using ScoreRulesTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, ScoreRulesTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, ScoreRulesTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

struct Rule {
  const char* name;
  std::function<void(ProblemSpec&)> set;
};

// One at a time, and all of them at once.
std::vector<Rule> EveryRule() {
  return {
      {"window", [](ProblemSpec& s) { s.window = 40; }},
      {"chunk", [](ProblemSpec& s) { s.attention_chunk = 48; }},
      {"sink tokens",
       [](ProblemSpec& s) {
         s.window = 30;
         s.sink_tokens = 5;
       }},
      {"soft cap", [](ProblemSpec& s) { s.soft_cap = 1.5f; }},
      {"alibi", [](ProblemSpec& s) { s.has_alibi = true; }},
      {"bias", [](ProblemSpec& s) { s.has_bias = true; }},
      {"sink logits", [](ProblemSpec& s) { s.has_sink_logits = true; }},
      {"all",
       [](ProblemSpec& s) {
         s.window = 70;
         s.attention_chunk = 90;
         s.sink_tokens = 19;
         s.soft_cap = 2.5f;
         s.has_alibi = s.has_bias = s.has_sink_logits = true;
       }},
  };
}

// BR-074, 120: each rule alone and all together, over row counts that fill a
// chunk of rows and that do not, and blocks smaller and larger than a tile.
TEST_P(ScoreRulesTest, EveryRuleMatchesTheOracle) {
  for (const Rule& rule : EveryRule()) {
    for (int group : {1, 3, 8, 20}) {
      for (int block_size : {16, 1, 12, 64}) {
        SCOPED_TRACE(::testing::Message() << rule.name << ", group " << group
                                          << ", blocks of " << block_size);
        ProblemSpec spec{.dtype = dtype(),
                         .num_q_heads = 2 * group,
                         .num_kv_heads = 2,
                         .head_dim = head_dim(24),
                         .block_size = block_size,
                         .context_lens = {1, 0, 48, 49, 203, 90}};
        rule.set(spec);
        const Problem problem = MakeProblem(spec);
        PAGED_SKIP_UNBUILT(problem);
        ExpectRight(kind(), problem, {1, 3, 8});
      }
    }
  }
}

// BR-105, 118: a parameter that some path drops changes nothing there.
TEST_P(ScoreRulesTest, EveryRuleChangesOutputAndLse) {
  const ProblemSpec spec{
      .dtype = dtype(), .head_dim = 64, .context_lens = {203}};
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
    const DecodeResult plain = RunOnce(kind(), MakeProblem(spec), options);
    for (const Rule& rule : EveryRule()) {
      SCOPED_TRACE(rule.name);
      ProblemSpec ruled = spec;
      rule.set(ruled);
      const Problem problem = MakeProblem(ruled);
      PAGED_SKIP_UNBUILT(problem);
      const DecodeResult result = RunOnce(kind(), problem, options);
      EXPECT_NE(result.output, plain.output);
      EXPECT_NE(result.lse, plain.lse);
      EXPECT_TRUE(result.plan.instance.is_general);
      // CUDA cores are the same for both.
      EXPECT_EQ(plain.plan.instance.is_general,
                plain.plan.instance.on_cuda_cores);
    }
  }
}

// BR-001, 007, 117: what a rule hides is never used, not as an address either.
TEST_P(ScoreRulesTest, HiddenMemoryChangesNoBit) {
  for (int block_size : {1, 8, 16, 64}) {
    ProblemSpec spec{.dtype = dtype(),
                     .head_dim = 64,
                     .block_size = block_size,
                     .context_lens = {300, 64, 65, 7},
                     .poison = Poison::kZero,
                     .tail_entry = 0,
                     .window = 40,
                     .sink_tokens = 3,
                     .soft_cap = 3.0f,
                     .has_alibi = true};
    const Problem clean_problem = MakeProblem(spec);
    PAGED_SKIP_UNBUILT(clean_problem);
    for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
      const DecodeResult clean = RunOnce(kind(), clean_problem, options);
      for (Poison poison : {Poison::kNaN, Poison::kInf, Poison::kRandom}) {
        ProblemSpec poisoned = spec;
        poisoned.poison = poison;
        poisoned.tail_entry = -1;
        EXPECT_TRUE(
            BitEqual(RunOnce(kind(), MakeProblem(poisoned), options), clean));
      }
    }
  }
}

// BR-121, 180.
TEST_P(ScoreRulesTest, ASequenceAloneEqualsItselfInTheBatch) {
  for (const Rule& rule : EveryRule()) {
    ProblemSpec spec{.dtype = dtype(),
                     .head_dim = 64,
                     .context_lens = {17, 0, 300, 1, 64, 131}};
    rule.set(spec);
    const Problem batch = MakeProblem(spec);
    PAGED_SKIP_UNBUILT(batch);
    ExpectAloneAsInTheBatch(kind(), backend(), spec, batch, rule.name);
  }
}

// BR-098: a window slides with the length, under one plan.
TEST_P(ScoreRulesTest, OnePlanServesEveryLength) {
  ProblemSpec spec{.dtype = dtype(),
                   .head_dim = 64,
                   .block_size = 8,
                   .context_lens = {150},
                   .max_context_len = 150,
                   .window = 20,
                   .sink_tokens = 2};
  for (int len = 1; len <= 150; ++len) {
    spec.context_lens = {len};
    const Problem problem = MakeProblem(spec);
    PAGED_SKIP_UNBUILT(problem);
    ExpectRight(kind(), problem, {4});
  }
}

// The reference has the same rules, in its own words.
TEST_P(ScoreRulesTest, TheReferenceHasEveryRule) {
  if (!is_cpu()) GTEST_SKIP() << "the reference runs on the CPU";
  for (const Rule& rule : EveryRule()) {
    ProblemSpec spec{
        .dtype = dtype(), .head_dim = 24, .context_lens = {1, 0, 203, 90}};
    rule.set(spec);
    const Problem problem = MakeProblem(spec);
    EXPECT_TRUE(
        IsNear(RunOnce(kind(), problem, ForceVariant(Variant::kReference)),
               OracleFor(kind(), problem)))
        << rule.name;
  }
}

}  // namespace
}  // namespace paged::testing
