// An allocator's blocks may be larger than those that decode is told of: block
// `id` of B tokens is the blocks id * (B / b) + j of b tokens.
#include <gtest/gtest.h>

#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/guarded_buffer.h"

namespace paged::testing {
namespace {

using SubBlocksTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, SubBlocksTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, SubBlocksTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

constexpr int kLargeBlock = 784;

// `shape` in blocks of a part of the size.
DecodeShape InSubBlocks(DecodeShape shape, int block_size) {
  const int parts = shape.block_size / block_size;
  shape.block_size = block_size;
  shape.num_blocks *= parts;
  shape.max_blocks_per_seq *= parts;
  shape.block_table_stride = 0;
  shape.key.block_stride /= parts;
  shape.value.block_stride /= parts;
  return shape;
}

// The parts of a row's blocks in order; -1 past its end.
std::vector<int32_t> SubBlockTable(const Problem& problem, int parts) {
  std::vector<int32_t> table;
  const int columns = problem.shape.max_blocks_per_seq;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const int num_live =
        (problem.context_len(seq) + kLargeBlock - 1) / kLargeBlock;
    for (int column = 0; column < columns; ++column) {
      const int32_t block =
          problem
              .block_tables[static_cast<std::size_t>(seq * columns + column)];
      for (int part = 0; part < parts; ++part) {
        table.push_back(column < num_live ? block * parts + part : -1);
      }
    }
  }
  return table;
}

// BR-073.
TEST_P(SubBlocksTest, ATableOfSubBlocksChangesNoBit) {
  const Problem problem =
      MakeProblem({.dtype = dtype(),
                   .num_q_heads = 4,
                   .num_kv_heads = 2,
                   .head_dim = 64,
                   .block_size = kLargeBlock,
                   .context_lens = {1, 783, 784, 785, 0, 1601}});
  DecodeSession session(kind(), problem);
  for (const DecodeOptions& options :
       {ForceV1(), ForceSplits(3), ForceChunks()}) {
    const absl::StatusOr<DecodeResult> direct = session.Run(options);
    ASSERT_TRUE(direct.ok()) << direct.status();
    EXPECT_TRUE(IsNear(*direct, OracleFor(kind(), problem)));
    for (int block_size : {1, 7, 16, 49, 392}) {
      SCOPED_TRACE(::testing::Message()
                   << NameOf(direct->plan.variant) << ", " << block_size);
      const std::vector<int32_t> entries =
          SubBlockTable(problem, kLargeBlock / block_size);
      GuardedBuffer table(kind(), entries.size() * sizeof(int32_t));
      table.UploadValues(entries);
      DecodeArgs args = session.args();
      args.shape = InSubBlocks(args.shape, block_size);
      args.block_tables = static_cast<const int32_t*>(table.data());
      const absl::StatusOr<DecodePlan> plan =
          PlanDecode(args.shape, backend(), options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const PoisonedWorkspace workspace(kind(), *plan);
      ASSERT_TRUE(backend().Prepare(*plan).ok());
      session.PoisonOutputs();
      const absl::Status status =
          backend().Run(*plan, args, workspace.context());
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_TRUE(backend().Synchronize(nullptr).ok());
      EXPECT_TRUE(BitEqual(session.Collect(*plan), *direct));
    }
  }
}

}  // namespace
}  // namespace paged::testing
