// Several query tokens per sequence: as many as each likes, and trees of them.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using QueryTokensTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, QueryTokensTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, QueryTokensTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-028, 036, 113: lengths from nothing up, so that the first tokens of some
// sequences are at negative positions and see nothing.
TEST_P(QueryTokensTest, EveryQLenMatchesTheOracle) {
  for (int q_len : {1, 2, 3, 4, 7, 8, 16, 32}) {
    for (int group : {1, 3, 8}) {
      SCOPED_TRACE(::testing::Message()
                   << "q_len " << q_len << ", group " << group);
      const Problem problem =
          MakeProblem({.dtype = dtype(),
                       .q_len = q_len,
                       .num_q_heads = 2 * group,
                       .num_kv_heads = 2,
                       .head_dim = head_dim(24),
                       .context_lens = {q_len, 0, 1, 33, 17, 130},
                       .row_padding = 8});
      PAGED_SKIP_UNBUILT(problem);
      ExpectRight(kind(), problem, {1, 4});
    }
  }
}

TEST_P(QueryTokensTest, RaggedQueriesMatchTheOracle) {
  for (int group : {1, 5, 20}) {
    for (int row_padding : {0, 8}) {
      const Problem problem =
          MakeProblem({.dtype = dtype(),
                       .q_len = 9,
                       .q_lens = {3, 0, 9, 1, 4, 9, 2},
                       .num_q_heads = group,
                       .num_kv_heads = 1,
                       .head_dim = head_dim(40),
                       .context_lens = {40, 17, 9, 1, 2, 200, 0},
                       .row_padding = row_padding});
      PAGED_SKIP_UNBUILT(problem);
      ExpectRight(kind(), problem, {1, 3});
    }
  }
}

TEST_P(QueryTokensTest, TreesMatchTheOracle) {
  for (const std::vector<int>& q_lens :
       {std::vector<int>{}, std::vector<int>{7, 1, 32, 5, 0}}) {
    const Problem problem = MakeProblem({.dtype = dtype(),
                                         .q_len = 32,
                                         .q_lens = q_lens,
                                         .has_tree_masks = true,
                                         .head_dim = head_dim(24),
                                         .context_lens = {50, 33, 32, 100, 8},
                                         .soft_cap = 2.0f,
                                         .has_bias = true});
    PAGED_SKIP_UNBUILT(problem);
    ExpectRight(kind(), problem, {1, 3});
  }
}

// A tree without branches is the plain causal order, to the bit.
TEST_P(QueryTokensTest, AChainIsATreeToo) {
  const Problem chain = MakeProblem({.dtype = dtype(),
                                     .q_len = 6,
                                     .head_dim = 64,
                                     .context_lens = {6, 40, 90}});
  Problem tree = chain;
  tree.spec.has_tree_masks = tree.shape.has_tree_masks = true;
  for (int token = 0; token < 3 * 6; ++token) {
    tree.tree_masks.push_back((uint32_t{2} << token % 6) - 1);
  }
  PAGED_SKIP_UNBUILT(tree);
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(2)}) {
    EXPECT_TRUE(BitEqual(RunOnce(kind(), tree, options),
                         RunOnce(kind(), chain, options)));
  }
}

// BR-109: the masks of rules and of query tokens together.
TEST_P(QueryTokensTest, RulesHoldForEachQueryToken) {
  for (int window : {0, 1, 5, 16, 40}) {
    for (int chunk : {0, 16, 21}) {
      for (int q_len = 1; q_len <= 8; ++q_len) {
        SCOPED_TRACE(::testing::Message() << "window " << window << ", chunk "
                                          << chunk << ", q_len " << q_len);
        const Problem problem = MakeProblem({.dtype = dtype(),
                                             .q_len = q_len,
                                             .num_q_heads = 6,
                                             .num_kv_heads = 2,
                                             .head_dim = head_dim(16),
                                             .block_size = 4,
                                             .context_lens = {3, 64, 66, 90},
                                             .tail_entry = -1,
                                             .window = window,
                                             .attention_chunk = chunk,
                                             .sink_tokens = 2,
                                             .has_alibi = true,
                                             .has_bias = true,
                                             .has_sink_logits = true});
        PAGED_SKIP_UNBUILT(problem);
        ExpectRight(kind(), problem, {2});
      }
    }
  }
}

// BR-110: a query token is the decode step that it would have been, as close as
// two sums of the same terms.
TEST_P(QueryTokensTest, EachTokenIsADecodeStepOfItsOwn) {
  constexpr int kQLen = 8;
  const Problem together = MakeProblem({.dtype = dtype(),
                                        .q_len = kQLen,
                                        .num_q_heads = 6,
                                        .num_kv_heads = 2,
                                        .head_dim = 64,
                                        .context_lens = {150}});
  PAGED_SKIP_UNBUILT(together);
  const DecodeResult all = RunOnce(kind(), together, ForceV1());
  for (int token = 0; token < kQLen; ++token) {
    Problem step = MakeProblem({.dtype = dtype(),
                                .num_q_heads = 6,
                                .num_kv_heads = 2,
                                .head_dim = 64,
                                .context_lens = {150 - kQLen + 1 + token}});
    const auto row = static_cast<std::ptrdiff_t>(step.query.size());
    step.query.assign(together.query.begin() + token * row,
                      together.query.begin() + (token + 1) * row);
    const std::size_t keys = step.sequences[0].keys.size();
    step.sequences[0] = together.sequences[0];
    step.sequences[0].keys.resize(keys);
    step.sequences[0].values.resize(keys);
    const DecodeResult one = RunOnce(kind(), step, ForceV1());
    EXPECT_TRUE(IsNear(one, OracleFor(kind(), step)));
    for (std::size_t head = 0; head < 6; ++head) {
      EXPECT_NEAR(one.lse[head],
                  all.lse[static_cast<std::size_t>(token) * 6 + head], 1e-5);
    }
  }
}

// Lengths on the device never exceed the plan's capacity.
TEST_P(QueryTokensTest, MoreTokensThanTheCapacityAreClamped) {
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .q_len = 4,
                                 .q_lens = {4, 4},
                                 .head_dim = 64,
                                 .context_lens = {30, 50}});
  PAGED_SKIP_UNBUILT(problem);
  const DecodeResult expected = RunOnce(kind(), problem, ForceV1());
  // The first sequence claims all eight tokens, the second starts at its own.
  Problem hostile = problem;
  hostile.query_offsets = {0, 8, 4};
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
    const DecodeResult result = RunOnce(kind(), hostile, options);
    EXPECT_TRUE(std::equal(
        result.lse.begin(), result.lse.begin() + 4 * 4, expected.lse.begin(),
        [](float a, float b) { return std::fabs(a - b) < 1e-5f; }));
  }
}

TEST_P(QueryTokensTest, ASequenceAloneEqualsItselfInTheBatch) {
  const ProblemSpec spec{.dtype = dtype(),
                         .q_len = 5,
                         .q_lens = {2, 5, 1, 3},
                         .head_dim = 64,
                         .context_lens = {17, 300, 1, 64}};
  const Problem batch = MakeProblem(spec);
  PAGED_SKIP_UNBUILT(batch);
  ExpectAloneAsInTheBatch(kind(), backend(), spec, batch);
}

TEST_P(QueryTokensTest, TheReferenceServesThemAsWell) {
  if (!is_cpu()) GTEST_SKIP() << "the reference runs on the CPU";
  for (bool is_tree : {false, true}) {
    const Problem problem = MakeProblem({.dtype = dtype(),
                                         .q_len = 5,
                                         .q_lens = {2, 5, 1, 3},
                                         .has_tree_masks = is_tree,
                                         .head_dim = 24,
                                         .context_lens = {17, 300, 1, 2}});
    EXPECT_TRUE(
        IsNear(RunOnce(kind(), problem, ForceVariant(Variant::kReference)),
               OracleFor(kind(), problem)));
  }
}

}  // namespace
}  // namespace paged::testing
