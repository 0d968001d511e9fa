// What each rule for scores means, in closed form: without the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using ScoreMeaningTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, ScoreMeaningTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, ScoreMeaningTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-106, 107, 117: with q = 0 every visible token weighs the same, and with
// one-hot values the output says which ones were seen.
TEST_P(ScoreMeaningTest, SeesExactlyTheTokensOfTheContract) {
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

// A sink takes weight away and gives no value: with equal scores of 0 over n
// tokens and a sink of ln n, half of the weight.
TEST_P(ScoreMeaningTest, ASinkTakesItsShareOfTheWeight) {
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
TEST_P(ScoreMeaningTest, ARowWithoutTokensEndsInZeroAndMinusInfinity) {
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
TEST_P(ScoreMeaningTest, AlibiIsZeroAtTheNewestToken) {
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
TEST_P(ScoreMeaningTest, ACapBoundsEveryScore) {
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

}  // namespace
}  // namespace paged::testing
