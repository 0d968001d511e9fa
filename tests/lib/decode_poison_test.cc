// What must not be read is poison, and what is poison must not spread.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <limits>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using DecodePoisonTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, DecodePoisonTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DecodePoisonTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<DecodeOptions> Plans() { return {ForceV1(), ForceSplits(3)}; }

// BR-001, 002, 003, 004, 005.
TEST_P(DecodePoisonTest, UnusedMemoryChangesNoBit) {
  for (int bs : {1, 8, 16, 32, 128, 256}) {
    ProblemSpec spec{.dtype = dtype(),
                     .head_dim = 64,
                     .block_size = bs,
                     .context_lens = {1, std::max(bs - 1, 1), bs, bs + 1}};
    for (const DecodeOptions& options : Plans()) {
      spec.poison = Poison::kZero;
      spec.poison_target = PoisonTarget::kBoth;
      const DecodeResult clean = RunOnce(kind(), MakeProblem(spec), options);
      for (Poison poison :
           {Poison::kNaN, Poison::kInf, Poison::kMinusInf, Poison::kBytesFF,
            Poison::kBytes7F, Poison::kRandom, Poison::kWords}) {
        for (PoisonTarget target : {PoisonTarget::kBoth, PoisonTarget::kKeys,
                                    PoisonTarget::kValues}) {
          SCOPED_TRACE(::testing::Message()
                       << "block size " << bs << ", poison "
                       << static_cast<int>(poison) << " in "
                       << static_cast<int>(target));
          spec.poison = poison;
          spec.poison_target = target;
          EXPECT_TRUE(
              BitEqual(RunOnce(kind(), MakeProblem(spec), options), clean));
        }
      }
    }
  }
}

// BR-006: finite values may move a bit without being seen.
TEST_P(DecodePoisonTest, RandomTailsChangeNoBit) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .head_dim = 64,
                                       .context_lens = {19, 33},
                                       .poison = Poison::kZero});
  for (const DecodeOptions& options : Plans()) {
    const DecodeResult clean = RunOnce(kind(), problem, options);
    for (uint32_t seed = 0; seed < 1000; ++seed) {
      // Only what is outside the content depends on the seed from here on.
      Problem poisoned = problem;
      poisoned.spec.poison = Poison::kRandom;
      poisoned.spec.seed = seed;
      EXPECT_TRUE(BitEqual(RunOnce(kind(), poisoned, options), clean));
    }
  }
}

// BR-038, 039, 040: the table has exactly the columns of the longest sequence.
TEST_P(DecodePoisonTest, TableEntriesPastTheContextAreNotFollowed) {
  ProblemSpec spec{.dtype = dtype(),
                   .head_dim = 64,
                   .context_lens = {1, 70, 16, 33},
                   .tail_entry = 0};
  for (const DecodeOptions& options : Plans()) {
    const DecodeResult clean = RunOnce(kind(), MakeProblem(spec), options);
    for (int32_t tail : {2147480000, -1, INT_MAX, INT_MIN, 1 << 20}) {
      SCOPED_TRACE(tail);
      ProblemSpec hostile = spec;
      hostile.tail_entry = tail;
      EXPECT_TRUE(
          BitEqual(RunOnce(kind(), MakeProblem(hostile), options), clean));
    }
  }
}

// BR-010: partials of a larger plan lie where the smaller one works.
TEST_P(DecodePoisonTest, AStaleWorkspaceChangesNoBit) {
  const Problem problem = MakeProblem(
      {.dtype = dtype(), .head_dim = 64, .context_lens = {200, 3, 0, 90}});
  DecodeSession session(kind(), problem);
  const DecodePlan large = session.Plan(ForceSplits(64)).value();
  const PoisonedWorkspace workspace(kind(), large);
  ASSERT_TRUE(session.RunIn(large, workspace.context()).ok());
  for (int splits : {32, 5, 2, 1}) {
    const DecodePlan small = session.Plan(ForceSplits(splits)).value();
    EXPECT_TRUE(BitEqual(session.RunIn(small, workspace.context()).value(),
                         session.Run(ForceSplits(splits)).value()));
  }
}

// Counters of one plan are safe from the partials of another: a workspace is
// initialised once, and plans of any kind take turns in it.
TEST_P(DecodePoisonTest, PlansOfEveryReductionTakeTurnsInOneWorkspace) {
  const Problem problem = MakeProblem(
      {.dtype = dtype(), .head_dim = 64, .context_lens = {200, 3, 0, 90}});
  DecodeSession session(kind(), problem);
  const DecodePlan large = session.Plan(ForceSplits(64)).value();
  const PoisonedWorkspace workspace(kind(), large);
  for (int turn = 0; turn < 3; ++turn) {
    for (const DecodeOptions& options : ForcedPlans(backend())) {
      ASSERT_TRUE(session.RunIn(large, workspace.context()).ok());
      const DecodePlan plan = session.Plan(options).value();
      EXPECT_TRUE(BitEqual(session.RunIn(plan, workspace.context()).value(),
                           session.Run(options).value()));
    }
  }
}

// Expects NaN in the rows that `is_hit` names and the clean bits elsewhere.
template <typename IsHit>
void ExpectOnlyThese(const DecodeResult& result, const DecodeResult& clean,
                     const Problem& problem, const IsHit& is_hit) {
  const auto row_bytes = static_cast<std::size_t>(problem.spec.head_dim *
                                                  SizeOf(problem.spec.dtype));
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    for (int head = 0; head < problem.spec.num_q_heads; ++head) {
      SCOPED_TRACE(::testing::Message() << "row " << seq << ", " << head);
      const auto row =
          static_cast<std::size_t>(seq * problem.spec.num_q_heads + head);
      if (is_hit(seq, head)) {
        EXPECT_TRUE(std::isnan(result.lse[row]));
        for (int d = 0; d < problem.spec.head_dim; ++d) {
          EXPECT_TRUE(
              std::isnan(ReadElement(problem.spec.dtype, result.output.data(),
                                     problem.QueryIndex(seq, head, d))));
        }
        continue;
      }
      EXPECT_EQ(result.lse[row], clean.lse[row]);
      EXPECT_TRUE(std::equal(
          result.output.begin() + static_cast<int64_t>(row * row_bytes),
          result.output.begin() + static_cast<int64_t>((row + 1) * row_bytes),
          clean.output.begin() + static_cast<int64_t>(row * row_bytes)));
    }
  }
}

TEST_P(DecodePoisonTest, ANaNQueryRowSpoilsItselfAlone) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 8,
                                       .head_dim = 64,
                                       .context_lens = {40, 70}});
  Problem broken = problem;
  broken.SetQuery(1, 2, 5, kNaN);
  for (const DecodeOptions& options : Plans()) {
    ExpectOnlyThese(RunOnce(kind(), broken, options),
                    RunOnce(kind(), problem, options), problem,
                    [](int seq, int head) { return seq == 1 && head == 2; });
  }
}

TEST_P(DecodePoisonTest, ANaNKeySpoilsItsKvHeadAlone) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 8,
                                       .head_dim = 64,
                                       .context_lens = {40, 70}});
  // The first, a middle and the last token.
  for (int position : {0, 37, 69}) {
    Problem broken = problem;
    broken.SetKey(1, position, 1, 63, kNaN);
    for (const DecodeOptions& options : Plans()) {
      ExpectOnlyThese(RunOnce(kind(), broken, options),
                      RunOnce(kind(), problem, options), problem,
                      [](int seq, int head) { return seq == 1 && head >= 4; });
    }
  }
}

// The oracle's NaN is in one dimension; no other may follow.
TEST_P(DecodePoisonTest, ANaNValueSpoilsItsDimensionAlone) {
  Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {40, 70}});
  problem.SetValue(1, 69, 0, 11, kNaN);
  ExpectRight(kind(), problem);
}

// BR-123: scores of 10^5 and more, far past fp16. The dots of up to 256 x 250 x
// 250 are exact in float32, so the weights are equal, as with scores of 0.
TEST_P(DecodePoisonTest, LargeScoresStayFinite) {
  for (int dim : {128, 256}) {
    Problem problem =
        MakeProblem({.dtype = dtype(), .head_dim = dim, .context_lens = {40}});
    problem.FillQueries(0.0);
    Oracle oracle = OracleFor(kind(), problem);
    problem.FillQueries(250.0);
    for (double key : {250.0, -250.0}) {
      problem.FillKeys(key);
      oracle.lse = OracleFor(kind(), problem).lse;
      oracle.lse_bound.assign(oracle.lse.size(), 1.0);
      for (const DecodeOptions& options : Plans()) {
        EXPECT_TRUE(IsNear(RunOnce(kind(), problem, options), oracle));
      }
    }
  }
}

// BR-122: the weighted sum leaves fp16 after the first two tokens.
TEST_P(DecodePoisonTest, LargeValuesDoNotOverflow) {
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .num_q_heads = 2,
                                 .num_kv_heads = 1,
                                 .head_dim = 64,
                                 .block_size = 64,
                                 .context_lens = {4096}});
  problem.FillValues(60000.0);
  ExpectRight(kind(), problem, {8});
}

}  // namespace
}  // namespace paged::testing
