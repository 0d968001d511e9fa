// What a run would follow into foreign memory is named before it does.
#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"

namespace paged::testing {
namespace {

class CheckTablesTest : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    const absl::Status status = Check(MakeProblem({.dtype = dtype()}));
    if (absl::IsUnimplemented(status)) GTEST_SKIP() << status;
  }
  absl::Status Check(const Problem& problem) {
    DecodeSession session(kind(), problem);
    return backend().CheckTables(session.args(), nullptr);
  }
  std::string Message(const Problem& problem) {
    return std::string(Check(problem).message());
  }
  // With other entries in columns of the table.
  std::string MessageWith(const Problem& problem,
                          const std::vector<std::size_t>& entries, int32_t id) {
    std::vector<int32_t> tables = problem.block_tables;
    for (std::size_t entry : entries) tables[entry] = id;
    DecodeSession session(kind(), problem);
    session.SetBlockTables(tables);
    return std::string(
        backend().CheckTables(session.args(), nullptr).message());
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, CheckTablesTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, CheckTablesTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-038: in slots that hold tokens the first offender is named, behind them
// anything goes.
TEST_P(CheckTablesTest, NamesTheFirstEntryThatIsNoBlock) {
  const Problem legal = MakeProblem({.dtype = dtype(),
                                     .context_lens = {40, 0, 33, 16},
                                     .max_context_len = 80,
                                     .tail_entry = -1});
  EXPECT_TRUE(Check(legal).ok()) << Check(legal);
  const int64_t last = legal.shape.num_blocks - 1;
  for (int32_t id : {-1, static_cast<int32_t>(last + 1), INT_MAX, INT_MIN}) {
    EXPECT_EQ(MessageWith(legal, {2 * 5 + 2, 3 * 5 + 0}, id),
              "block_tables[2][2] must be 0 to " + std::to_string(last) +
                  "; got " + std::to_string(id));
  }
}

// BR-041, 102: lengths over the capacity, and below 0.
TEST_P(CheckTablesTest, NamesTheFirstLengthOutOfRange) {
  Problem problem = MakeProblem(
      {.dtype = dtype(), .context_lens = {40, 20}, .max_context_len = 48});
  for (int32_t len : {49, -1, INT_MAX, INT_MIN}) {
    DecodeSession session(kind(), problem);
    session.SetContextLens({40, len});
    EXPECT_EQ(backend().CheckTables(session.args(), nullptr).message(),
              "context_lens[1] must be 0 to 48; got " + std::to_string(len));
  }
}

TEST_P(CheckTablesTest, EntriesThatARuleHidesAreNobodys) {
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .block_size = 4,
                                 .context_lens = {100},
                                 .tail_entry = -1,
                                 .window = 10,
                                 .sink_tokens = 3});
  EXPECT_TRUE(Check(problem).ok()) << Check(problem);
  // Tokens 90 to 99 are in the blocks 22 to 24, and 0 to 2 in the first.
  for (std::size_t column : {0, 22, 23, 24}) {
    EXPECT_EQ(MessageWith(problem, {column}, -7),
              "block_tables[0][" + std::to_string(column) + "] must be 0 to " +
                  std::to_string(problem.shape.num_blocks - 1) + "; got -7");
  }
}

TEST_P(CheckTablesTest, NamesTheFirstQueryLengthOutOfRange) {
  Problem problem = MakeProblem({.dtype = dtype(),
                                 .q_len = 3,
                                 .q_lens = {2, 0, 3},
                                 .context_lens = {40, 20, 5}});
  EXPECT_TRUE(Check(problem).ok()) << Check(problem);
  problem.query_offsets = {0, 2, 6, 5};
  EXPECT_EQ(Message(problem),
            "query_offsets[2] - query_offsets[1] must be 0 to 3; got 4");
  problem.query_offsets = {0, 2, 2, 1};
  EXPECT_EQ(Message(problem),
            "query_offsets[3] - query_offsets[2] must be 0 to 3; got -1");
  problem.query_offsets = {-1, 2, 2, 5};
  EXPECT_EQ(Message(problem), "query_offsets[0] must be at least 0; got -1");
}

TEST_P(CheckTablesTest, DecodeAsksWhenToldTo) {
  const Problem problem = MakeProblem({.dtype = dtype(), .context_lens = {40}});
  DecodeOptions options = ForceV1();
  options.validate_tables = true;
  DecodeSession session(kind(), problem);
  EXPECT_TRUE(Decode(session.args(), backend(), options).ok());
  std::vector<int32_t> tables = problem.block_tables;
  tables[1] = -1;
  session.SetBlockTables(tables);
  EXPECT_EQ(Decode(session.args(), backend(), options).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paged::testing
