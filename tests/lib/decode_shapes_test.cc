// Heads, groups, head dims, block sizes, strides and batch sizes.
#include <gtest/gtest.h>

#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using DecodeShapesTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, DecodeShapesTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DecodeShapesTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-066: kv heads and group differ.
TEST_P(DecodeShapesTest, MultiHeadGroupedAndMultiQueryMatchTheOracle) {
  for (const auto& [q, kv] : std::vector<std::pair<int, int>>{
           {4, 4}, {8, 2}, {8, 1}, {12, 4}, {28, 4}}) {
    SCOPED_TRACE(::testing::Message() << q << " q heads, " << kv << " kv");
    ExpectRight(kind(), MakeProblem({.dtype = dtype(),
                                     .num_q_heads = q,
                                     .num_kv_heads = kv,
                                     .head_dim = 64,
                                     .block_size = 16,
                                     .context_lens = {1, 15, 16, 17, 53}}));
  }
}

// Logical blocks 0 and 1 of the second sequence are blocks 12 and 3.
TEST_P(DecodeShapesTest, FollowsATableThatRunsBackwards) {
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .num_q_heads = 4,
                                 .num_kv_heads = 4,
                                 .head_dim = 64,
                                 .block_size = 16,
                                 .context_lens = {10, 25},
                                 .extra_blocks = 13});
  problem.block_tables = {5, problem.spec.tail_entry, 12, 3};
  ExpectRight(kind(), problem);
}

// BR-061, 062, 063, 064, 090: the random values of each kv head are its own, so
// a wrong kv head is visible.
TEST_P(DecodeShapesTest, AnyGroupMatchesTheOracle) {
  std::vector<int> groups = {20, 32, 48, 71};
  for (int group = 1; group <= 16; ++group) groups.push_back(group);
  for (int group : groups) {
    for (int kv_heads : {1, 2, 4}) {
      SCOPED_TRACE(::testing::Message() << group << " x " << kv_heads);
      ExpectRight(kind(), MakeProblem({.dtype = dtype(),
                                       .num_q_heads = group * kv_heads,
                                       .num_kv_heads = kv_heads,
                                       .head_dim = head_dim(24),
                                       .context_lens = {37}}));
    }
  }
}

TEST_P(DecodeShapesTest, HeadPackingChangesNoResult) {
  for (int group : {1, 4, 7, 20}) {
    const Problem problem = MakeProblem({.dtype = dtype(),
                                         .num_q_heads = 2 * group,
                                         .num_kv_heads = 2,
                                         .head_dim = 64,
                                         .context_lens = {5, 100}});
    for (DecodeOptions options : {ForceV1(), ForceSplits(3)}) {
      options.head_packing = HeadPacking::kOff;
      const DecodeResult result = RunOnce(kind(), problem, options);
      EXPECT_EQ(result.plan.rows_per_item, 1);
      EXPECT_EQ(result.plan.num_row_tiles, group);
      EXPECT_TRUE(IsNear(result, OracleFor(kind(), problem)));
    }
  }
}

// BR-050, 069: tiles are 16 tokens wherever they lie, so the same tokens in
// other blocks give the same bits.
TEST_P(DecodeShapesTest, BlockSizeChangesNoBit) {
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(5)}) {
    DecodeResult first;
    for (int block_size : {16, 1, 2, 3, 8, 17, 32, 64, 128, 256}) {
      SCOPED_TRACE(block_size);
      const Problem problem = MakeProblem({.dtype = dtype(),
                                           .head_dim = 64,
                                           .block_size = block_size,
                                           .context_lens = {300, 1, 47}});
      const DecodeResult result = RunOnce(kind(), problem, options);
      if (first.output.empty()) {
        EXPECT_TRUE(IsNear(result, OracleFor(kind(), problem)));
        first = result;
      }
      EXPECT_TRUE(BitEqual(result, first));
    }
  }
}

TEST_P(DecodeShapesTest, EveryBlockSizeServesItsBorders) {
  for (int bs : {1, 2, 3, 8, 16, 17, 32, 64, 128, 256}) {
    SCOPED_TRACE(bs);
    ExpectRight(kind(),
                MakeProblem({.dtype = dtype(),
                             .head_dim = head_dim(16),
                             .block_size = bs,
                             .context_lens = {1, std::max(bs - 1, 1), bs,
                                              bs + 1, 3 * bs + 5}}));
  }
}

TEST_P(DecodeShapesTest, HonoursEveryLayoutsStrides) {
  for (Layout layout :
       {Layout::kDense, Layout::kHeadMajor, Layout::kInterleaved,
        Layout::kPaddedRows, Layout::kManyLayers}) {
    for (int row_padding : {0, 8}) {
      SCOPED_TRACE(::testing::Message() << "layout " << static_cast<int>(layout)
                                        << ", padding " << row_padding);
      ExpectRight(kind(), MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 6,
                                       .num_kv_heads = 2,
                                       .head_dim = 64,
                                       .block_size = 8,
                                       .context_lens = {3, 41},
                                       .layout = layout,
                                       .row_padding = row_padding}));
    }
  }
}

// BR-071.
TEST_P(DecodeShapesTest, EveryBatchUpTo33MatchesTheOracle) {
  for (int batch = 1; batch <= 33; ++batch) {
    SCOPED_TRACE(batch);
    std::vector<int32_t> context_lens;
    for (int i = 0; i < batch; ++i) context_lens.push_back(1 + (i * 13) % 40);
    ExpectRight(kind(),
                MakeProblem({.dtype = dtype(),
                             .head_dim = head_dim(8),
                             .context_lens = context_lens}),
                {2});
  }
}

// BR-082, 083: past the grid limit of every dimension but x.
TEST_P(DecodeShapesTest, ServesMoreSequencesThan65535) {
  ExpectRight(kind(),
              MakeProblem({.dtype = dtype(),
                           .num_q_heads = 1,
                           .num_kv_heads = 1,
                           .head_dim = head_dim(4),
                           .block_size = 1,
                           .context_lens = std::vector<int32_t>(65'600, 1)}),
              {2});
}

// BR-058, 060, 047, 078: right, or refused with what exists.
TEST_P(DecodeShapesTest, AnyHeadDimIsRightOrUnimplemented) {
  for (int dim : {1, 2, 3, 32, 40, 46, 48, 59, 64, 72, 80, 96, 112, 120, 128,
                  160, 192, 256, 576}) {
    SCOPED_TRACE(dim);
    const Problem problem = MakeProblem(
        {.dtype = dtype(), .head_dim = dim, .context_lens = {1, 33}});
    if (is_cpu() || (dim % 8 == 0 && dim <= 512)) {
      ExpectRight(kind(), problem);
      continue;
    }
    const absl::Status status =
        PlanDecode(problem.shape, backend(), ForceV1()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  }
}

// BR-060: a kernel that reads too few dims would see no difference.
TEST_P(DecodeShapesTest, TheLastDimCounts) {
  std::vector<int> dims = {8, 64, 72, 80, 128, 200, 256, 512};
  if (is_cpu()) dims = {3, 17, 46, 64, 128, 576};
  for (int dim : dims) {
    SCOPED_TRACE(dim);
    Problem problem =
        MakeProblem({.dtype = dtype(), .head_dim = dim, .context_lens = {20}});
    problem.FillQueries(0.0);
    problem.FillKeys(0.0);
    for (int head = 0; head < 4; ++head) {
      problem.SetQuery(0, head, dim - 1, 8.0);
    }
    for (int kv_head = 0; kv_head < 2; ++kv_head) {
      problem.SetKey(0, 7, kv_head, dim - 1, 8.0);
    }
    ExpectRight(kind(), problem);
  }
}

TEST_P(DecodeShapesTest, HeavyTailedInputsStayWithinTheBound) {
  ExpectRight(kind(), MakeProblem({.dtype = dtype(),
                                   .head_dim = 128,
                                   .context_lens = {500, 77},
                                   .values = Values::kHeavyTailed}));
}

}  // namespace
}  // namespace paged::testing
