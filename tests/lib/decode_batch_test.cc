// Sequences side by side, empty sequences, and lengths out of range.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using DecodeBatchTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, DecodeBatchTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DecodeBatchTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// BR-180.
TEST_P(DecodeBatchTest, ASequenceAloneEqualsItselfInTheBatch) {
  const ProblemSpec spec{.dtype = dtype(),
                         .head_dim = 64,
                         .context_lens = {17, 0, 300, 1, 64, 131}};
  ExpectAloneAsInTheBatch(kind(), backend(), spec, MakeProblem(spec));
}

TEST_P(DecodeBatchTest, TheOrderOfSequencesChangesNoBit) {
  ProblemSpec spec{
      .dtype = dtype(), .head_dim = 64, .context_lens = {17, 0, 300, 1, 64}};
  const Problem problem = MakeProblem(spec);
  const std::vector<int> order = {3, 0, 4, 2, 1};
  ProblemSpec permuted_spec = spec;
  permuted_spec.content_ids = order;
  for (std::size_t i = 0; i < order.size(); ++i) {
    permuted_spec.context_lens[i] =
        spec.context_lens[static_cast<std::size_t>(order[i])];
  }
  const Problem permuted = MakeProblem(permuted_spec);
  for (const DecodeOptions& options : ForcedPlans(backend())) {
    const DecodeResult plain = RunOnce(kind(), problem, options);
    const DecodeResult other = RunOnce(kind(), permuted, options);
    for (int i = 0; i < permuted.num_seqs(); ++i) {
      EXPECT_TRUE(
          BitEqual(RowsOf(other, permuted, i),
                   RowsOf(plain, problem, order[static_cast<std::size_t>(i)])));
    }
  }
}

// BR-053.
TEST_P(DecodeBatchTest, TheOrderOfBlocksChangesNoBit) {
  ProblemSpec spec{
      .dtype = dtype(), .head_dim = 64, .context_lens = {100, 7, 250}};
  for (const DecodeOptions& options : ForcedPlans(backend())) {
    const DecodeResult first = RunOnce(kind(), MakeProblem(spec), options);
    for (uint32_t seed = 2; seed < 6; ++seed) {
      ProblemSpec shuffled = spec;
      shuffled.table_seed = seed;
      EXPECT_TRUE(
          BitEqual(RunOnce(kind(), MakeProblem(shuffled), options), first));
    }
  }
}

TEST_P(DecodeBatchTest, RepeatedRunsGiveTheSameBits) {
  const Problem problem = MakeProblem(
      {.dtype = dtype(), .head_dim = 64, .context_lens = {100, 7, 250}});
  DecodeSession session(kind(), problem);
  for (const DecodeOptions& options : ForcedPlans(backend())) {
    const DecodeResult first = session.Run(options).value();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(BitEqual(session.Run(options).value(), first));
    }
  }
}

// BR-013, 014: first, last, in between and everywhere.
TEST_P(DecodeBatchTest, AnEmptySequenceGivesZeroAndMinusInfinity) {
  for (const std::vector<int32_t>& context_lens :
       {std::vector<int32_t>{0, 20, 33}, std::vector<int32_t>{20, 33, 0},
        std::vector<int32_t>{20, 0, 0, 33}, std::vector<int32_t>{0, 0}}) {
    const Problem problem = MakeProblem({.dtype = dtype(),
                                         .head_dim = 64,
                                         .context_lens = context_lens,
                                         .max_context_len = 48});
    ExpectRight(kind(), problem, {1, 2, 5, 64});
    const DecodeResult result = RunOnce(kind(), problem, ForceSplits(2));
    for (int seq = 0; seq < problem.num_seqs(); ++seq) {
      if (problem.context_len(seq) != 0) continue;
      const DecodeResult rows = RowsOf(result, problem, seq);
      EXPECT_TRUE(std::all_of(rows.lse.begin(), rows.lse.end(),
                              [](float x) { return x == kMinusInfinity; }));
      // Positive zeros, to the bit.
      EXPECT_TRUE(std::all_of(rows.output.begin(), rows.output.end(),
                              [](std::byte b) { return b == std::byte{0}; }));
    }
  }
}

TEST_P(DecodeBatchTest, AnEmptyBatchIsFine) {
  for (const DecodeOptions& options : ForcedPlans(backend())) {
    const Problem problem =
        MakeProblem({.dtype = dtype(), .max_context_len = 100});
    const absl::StatusOr<DecodeResult> result =
        DecodeSession(kind(), problem).Run(options);
    EXPECT_TRUE(result.ok()) << result.status();
  }
}

// BR-038: no pool, no table, and nothing to read.
TEST_P(DecodeBatchTest, ATableWithoutColumnsServesEmptySequences) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .head_dim = 64,
                                       .context_lens = {0, 0, 0},
                                       .extra_blocks = 0});
  ASSERT_EQ(problem.shape.max_blocks_per_seq, 0);
  ExpectRight(kind(), problem, {1, 4});
}

// BR-041: lengths on the device are bounded by the plan's capacity.
TEST_P(DecodeBatchTest, LengthsOutOfRangeAreClamped) {
  const ProblemSpec spec{
      .dtype = dtype(), .head_dim = 64, .context_lens = {48, 48, 0, 20}};
  const Problem problem = MakeProblem(spec);
  for (const DecodeOptions& options : ForcedPlans(backend())) {
    const DecodeResult expected = RunOnce(kind(), problem, options);
    DecodeSession session(kind(), problem);
    session.SetContextLens({INT_MAX, 49, INT_MIN, 20});
    EXPECT_TRUE(BitEqual(session.Run(options).value(), expected));
  }
}

// BR-106, 111: with q = 0 every token weighs the same, and with one-hot values
// the output is a histogram of the tokens that were seen.
TEST_P(DecodeBatchTest, CountsExactlyTheTokensOfTheContext) {
  constexpr int kDim = 64;
  for (int context_len = 1; context_len <= 600; context_len += 1) {
    if (context_len > 70 && context_len % 16 > 1) continue;
    SCOPED_TRACE(context_len);
    Problem problem = MakeProblem({.dtype = dtype(),
                                   .num_q_heads = 1,
                                   .num_kv_heads = 1,
                                   .head_dim = kDim,
                                   .context_lens = {context_len}});
    problem.FillQueries(0.0);
    problem.FillValues(0.0);
    for (int t = 0; t < context_len; ++t) {
      problem.SetValue(0, t, 0, t % kDim, 1.0);
    }
    DecodeSession session(kind(), problem);
    for (const DecodeOptions& options : {ForceV1(), ForceSplits(5)}) {
      const DecodeResult result = session.Run(options).value();
      EXPECT_NEAR(result.lse[0], std::log(context_len), 1e-5);
      for (int d = 0; d < kDim; ++d) {
        const int count = (context_len + kDim - 1 - d) / kDim;
        const double seen =
            ReadElement(dtype(), result.output.data(), d) * context_len;
        if (count == 0) {
          EXPECT_EQ(seen, 0.0) << d;
        } else {
          EXPECT_NEAR(seen, count, 0.05) << d;
        }
      }
    }
  }
}

}  // namespace
}  // namespace paged::testing
