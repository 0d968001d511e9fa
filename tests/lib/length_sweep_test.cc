// Lengths: every one under one plan, the longest, and every width of a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using LengthSweepTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, LengthSweepTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, LengthSweepTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// Two plans' results for values in [-1, 1]: each rounds its weights and its
// output. One token of 20,000 more or less moves the lse by 5e-5.
::testing::AssertionResult AreClose(const DecodeResult& a,
                                    const DecodeResult& b) {
  const double bound = 4 * UnitRoundoff(a.dtype) + 1e-5;
  const auto count = static_cast<int64_t>(a.output.size()) / SizeOf(a.dtype);
  for (int64_t i = 0; i < count; ++i) {
    const double x = ReadElement(a.dtype, a.output.data(), i);
    const double y = ReadElement(b.dtype, b.output.data(), i);
    if (!(std::fabs(x - y) <= bound)) {
      return ::testing::AssertionFailure()
             << "output[" << i << "] is " << x << " and " << y;
    }
  }
  for (std::size_t i = 0; i < a.lse.size(); ++i) {
    if (!(std::fabs(a.lse[i] - b.lse[i]) <= 1.5e-5f)) {
      return ::testing::AssertionFailure()
             << "lse[" << i << "] is " << a.lse[i] << " and " << b.lse[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// BR-076, 099, 100, 131: what dispatch chose for the capacity serves every
// length below it, each row as v1 does.
TEST_P(LengthSweepTest, OnePlanServesEveryLengthUpToItsCapacity) {
  constexpr int kCapacity = 20'000;
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 3,
                                       .num_kv_heads = 1,
                                       .head_dim = head_dim(8),
                                       .context_lens = {kCapacity}});
  DecodeSession session(kind(), problem);
  const DecodePlan chosen = session.Plan({}).value();
  ASSERT_EQ(chosen.variant, Variant::kSplitK);
  const DecodePlan whole = session.Plan(ForceV1()).value();
  const PoisonedWorkspace workspace(kind(), chosen);
  // Every remainder modulo the tile, and modulo the splits.
  for (int n = 1; n <= kCapacity; n += n < 1024 ? 1 : 11) {
    session.SetContextLens({n});
    const DecodeResult split =
        session.RunIn(chosen, workspace.context()).value();
    ASSERT_TRUE(AreClose(split, session.RunIn(whole, RunContext{}).value()))
        << n << " tokens";
  }
  EXPECT_TRUE(workspace.AreCanariesIntact());
}

// BR-079: one tile for each of the most splits, and one token more.
TEST_P(LengthSweepTest, AsManySplitsAsTilesMatchTheOracle) {
  const int tokens = kMaxSplits * 16;
  ExpectRight(kind(),
              MakeProblem({.dtype = dtype(),
                           .head_dim = head_dim(8),
                           .context_lens = {tokens, tokens + 1, tokens - 1}}),
              {kMaxSplits, kMaxSplits - 1, 513});
}

// BR-079, 085: the same tokens `repeats` times over weigh as much as once, and
// add ln(repeats) to the lse.
TEST_P(LengthSweepTest, AMillionTokensAreAllCounted) {
  constexpr int kPeriod = 512;
  const Problem once = MakeProblem({.dtype = dtype(),
                                    .num_q_heads = 2,
                                    .num_kv_heads = 1,
                                    .head_dim = head_dim(8),
                                    .context_lens = {kPeriod}});
  for (int repeats : {256, 2048}) {
    Problem problem = once;
    problem.shape.max_context_len = repeats * kPeriod;
    problem.shape.max_blocks_per_seq *= repeats;
    problem.block_tables.clear();
    for (int i = 0; i < repeats; ++i) {
      problem.block_tables.insert(problem.block_tables.end(),
                                  once.block_tables.begin(),
                                  once.block_tables.end());
    }
    Oracle oracle = OracleFor(kind(), once);
    for (double& lse : oracle.lse) lse += std::log(repeats);
    // A split of 1024 that is lost moves the lse by 1e-3.
    for (double& bound : oracle.lse_bound) bound += 3e-4;
    for (double& bound : oracle.output_bound) bound += 3e-4;
    DecodeSession session(kind(), problem);
    session.SetContextLens({repeats * kPeriod});
    for (const DecodeOptions& options :
         {DecodeOptions{}, ForceV1(), ForceSplits(33), ForceSplits(128),
          ForceSplits(kMaxSplits)}) {
      EXPECT_TRUE(IsNear(session.Run(options).value(), oracle));
    }
  }
}

// BR-040, 044: the table ends with the last block of the last sequence.
TEST_P(LengthSweepTest, EveryWidthOfATableServesFullRows) {
  for (int width : {1, 2, 3, 5, 7, 31, 33}) {
    for (int block_size : {2, 4, 5, 8, 16, 32, 64}) {
      SCOPED_TRACE(::testing::Message()
                   << width << " blocks of " << block_size);
      const int full = width * block_size;
      const Problem problem =
          MakeProblem({.dtype = dtype(),
                       .head_dim = head_dim(8),
                       .block_size = block_size,
                       .context_lens = {full, 1, full - 1, full},
                       .extra_blocks = 0});
      ASSERT_EQ(problem.shape.max_blocks_per_seq, width);
      ExpectRight(kind(), problem, {2, 7});
    }
  }
}

}  // namespace
}  // namespace paged::testing
