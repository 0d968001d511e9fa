// Windows, chunks, sinks, caps, slopes and biases: what a query token sees,
// and what happens to its scores.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

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

// BR-106, 107, 117: with q = 0 every visible token weighs the same, and with
// one-hot values the output says which ones were seen.
TEST_P(ScoreRulesTest, SeesExactlyTheTokensOfTheContract) {
  constexpr int kDim = 64;
  constexpr int kContext = 200;
  for (int window : {0, 1, 2, 15, 16, 17, 63, 64, 199, 200, 201}) {
    for (int chunk : {0, 1, 16, 50, 64, 200, 201}) {
      for (int sinks : {0, 1, 4, 16, 33, 250}) {
        SCOPED_TRACE(::testing::Message() << "window " << window << ", chunk "
                                          << chunk << ", sinks " << sinks);
        Problem problem = MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 1,
                                       .num_kv_heads = 1,
                                       .head_dim = kDim,
                                       .context_lens = {kContext},
                                       .window = window,
                                       .attention_chunk = chunk,
                                       .sink_tokens = sinks});
        PAGED_SKIP_UNBUILT(problem);
        problem.FillQueries(0.0);
        problem.FillValues(0.0);
        int begin = window == 0 ? 0 : std::max(0, kContext - window);
        if (chunk > 0) begin = std::max(begin, (kContext - 1) / chunk * chunk);
        std::vector<int> counts(kDim);
        int num_seen = 0;
        for (int t = 0; t < kContext; ++t) {
          problem.SetValue(0, t, 0, t % kDim, 1.0);
          if (t < begin && t >= sinks) continue;
          ++counts[static_cast<std::size_t>(t % kDim)];
          ++num_seen;
        }
        DecodeSession session(kind(), problem);
        for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
          const DecodeResult result = session.Run(options).value();
          EXPECT_NEAR(result.lse[0], std::log(num_seen), 1e-5);
          for (int d = 0; d < kDim; ++d) {
            EXPECT_NEAR(
                ReadElement(dtype(), result.output.data(), d) * num_seen,
                counts[static_cast<std::size_t>(d)], 0.05)
                << d;
          }
        }
      }
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

// A sink takes weight away and gives no value: with equal scores of 0 over n
// tokens and a sink of ln n, half of the weight.
TEST_P(ScoreRulesTest, ASinkTakesItsShareOfTheWeight) {
  constexpr int kTokens = 32;
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .num_q_heads = 2,
                                 .num_kv_heads = 1,
                                 .head_dim = 64,
                                 .context_lens = {kTokens},
                                 .has_sink_logits = true});
  PAGED_SKIP_UNBUILT(problem);
  problem.FillQueries(0.0);
  problem.FillValues(1.0);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  problem.sink_logits = {std::log(float{kTokens}), -kInfinity};
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(2)}) {
    const DecodeResult result = RunOnce(kind(), problem, options);
    EXPECT_NEAR(ReadElement(dtype(), result.output.data(), 0), 0.5, 1e-3);
    EXPECT_NEAR(result.lse[0], std::log(2.0 * kTokens), 1e-5);
    EXPECT_EQ(ReadElement(dtype(), result.output.data(), 64), 1.0);
    EXPECT_NEAR(result.lse[1], std::log(1.0 * kTokens), 1e-5);
  }
  // Far above every score, where a sum of weights would overflow.
  problem.sink_logits = {200.0f, 1e30f};
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(2)}) {
    const DecodeResult result = RunOnce(kind(), problem, options);
    EXPECT_EQ(ReadElement(dtype(), result.output.data(), 0), 0.0);
    EXPECT_FLOAT_EQ(result.lse[0], 200.0f);
    EXPECT_FLOAT_EQ(result.lse[1], 1e30f);
  }
}

// BR-013: sinks or not.
TEST_P(ScoreRulesTest, ARowWithoutTokensEndsInZeroAndMinusInfinity) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .head_dim = 64,
                                       .context_lens = {0, 20},
                                       .has_bias = true,
                                       .has_sink_logits = true});
  PAGED_SKIP_UNBUILT(problem);
  Problem masked = problem;
  std::fill(masked.bias.begin() + problem.shape.max_context_len,
            masked.bias.end(), -std::numeric_limits<float>::infinity());
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(2)}) {
    const DecodeResult result = RunOnce(kind(), masked, options);
    for (float lse : result.lse) {
      EXPECT_EQ(lse, -std::numeric_limits<float>::infinity());
    }
    for (std::byte b : result.output) EXPECT_EQ(b, std::byte{0});
  }
}

// BR-114, 115: the lse is not blind to a shift of all scores. With q = 0 it is
// that of the bare slopes: a geometric series.
TEST_P(ScoreRulesTest, AlibiIsZeroAtTheNewestToken) {
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .num_q_heads = 8,
                                 .num_kv_heads = 1,
                                 .head_dim = 64,
                                 .context_lens = {32768},
                                 .has_alibi = true});
  PAGED_SKIP_UNBUILT(problem);
  problem.FillQueries(0.0);
  for (int head = 0; head < 8; ++head) {
    problem.alibi_slopes[static_cast<std::size_t>(head)] =
        std::exp2(-static_cast<float>(head + 1));
  }
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(7)}) {
    const DecodeResult result = RunOnce(kind(), problem, options);
    for (int head = 0; head < 8; ++head) {
      const double ratio = std::exp(-std::exp2(-(head + 1)));
      EXPECT_NEAR(result.lse[static_cast<std::size_t>(head)],
                  std::log((1 - std::pow(ratio, 32768)) / (1 - ratio)), 1e-5);
    }
  }
}

// BR-118, 123: a cap bounds what overflows otherwise.
TEST_P(ScoreRulesTest, ACapBoundsEveryScore) {
  for (double key : {250.0, -250.0}) {
    Problem problem = MakeProblem({.dtype = dtype(),
                                   .head_dim = 128,
                                   .context_lens = {40},
                                   .soft_cap = 50.0f});
    PAGED_SKIP_UNBUILT(problem);
    problem.FillQueries(250.0);
    problem.FillKeys(key);
    const double lse = (key > 0 ? 50.0 : -50.0) + std::log(40.0);
    for (const DecodeOptions& options : {ForceV1(), ForceSplits(2)}) {
      for (float x : RunOnce(kind(), problem, options).lse) {
        EXPECT_NEAR(x, lse, 1e-4);
      }
    }
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
