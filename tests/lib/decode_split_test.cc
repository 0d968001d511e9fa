// Split counts, their workspace, and what a plan refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

using DecodeSplitTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, DecodeSplitTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DecodeSplitTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

std::vector<int> SplitCounts() {
  std::vector<int> counts = {100, 128, 1000, 1024};
  for (int splits = 1; splits <= 64; ++splits) counts.push_back(splits);
  return counts;
}

// BR-017, 049, 074, 077, 081: contexts with fewer tiles than splits included.
TEST_P(DecodeSplitTest, AnySplitCountMatchesTheOracle) {
  ExpectRight(kind(),
              MakeProblem({.dtype = dtype(),
                           .num_q_heads = 6,
                           .num_kv_heads = 2,
                           .head_dim = head_dim(40),
                           .context_lens = {1, 0, 2, 16, 17, 33, 64, 1000}}),
              SplitCounts());
}

// BR-017.
TEST_P(DecodeSplitTest, EveryShortContextMatchesTheOracle) {
  std::vector<int32_t> context_lens;
  for (int n = 0; n <= 64; ++n) context_lens.push_back(n);
  ExpectRight(kind(),
              MakeProblem({.dtype = dtype(),
                           .head_dim = head_dim(16),
                           .context_lens = context_lens}),
              {1, 2, 3, 8, 64, 128});
}

// BR-049.
TEST_P(DecodeSplitTest, EverySmallBatchMatchesTheOracle) {
  for (int batch : {1, 2, 3, 7}) {
    ExpectRight(kind(),
                MakeProblem({.dtype = dtype(),
                             .head_dim = 64,
                             .context_lens = std::vector<int32_t>(
                                 static_cast<std::size_t>(batch), 100)}),
                {1, 2, 4});
  }
}

// BR-023: every row's lse is its own, and stays in its place.
TEST_P(DecodeSplitTest, EveryRowsLseStaysInItsPlace) {
  for (int group : {1, 3, 16, 20}) {
    Problem problem = MakeProblem({.dtype = dtype(),
                                   .num_q_heads = 2 * group,
                                   .num_kv_heads = 2,
                                   .head_dim = 64,
                                   .context_lens = {70, 70}});
    problem.FillKeys(1.0);
    problem.FillQueries(0.0);
    for (int seq = 0; seq < 2; ++seq) {
      for (int head = 0; head < 2 * group; ++head) {
        problem.SetQuery(seq, head, 0, seq * 40 + head);
      }
    }
    ExpectRight(kind(), problem, {1, 2, 5});
  }
}

double SquaredError(const DecodeResult& result, const Oracle& oracle) {
  double sum = 0.0;
  for (std::size_t i = 0; i < oracle.output.size(); ++i) {
    const double error = ReadElement(result.dtype, result.output.data(),
                                     static_cast<int64_t>(i)) -
                         oracle.output[i];
    sum += error * error;
  }
  return sum;
}

// BR-089: partials are float32 and unnormalised.
TEST_P(DecodeSplitTest, SplittingLosesNoPrecision) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 8,
                                       .head_dim = 64,
                                       .context_lens = {2000, 1500}});
  const Oracle oracle = OracleFor(kind(), problem);
  const double whole =
      SquaredError(RunOnce(kind(), problem, ForceV1()), oracle);
  for (int splits : {2, 8, 32, 125}) {
    EXPECT_LE(
        SquaredError(RunOnce(kind(), problem, ForceSplits(splits)), oracle),
        1.5 * 1.5 * whole)
        << splits;
  }
}

// BR-086, 088: PoisonedWorkspace has exactly the plan's bytes, so Run's
// canaries say that nothing is written past them. Groups fill whole items of up
// to 8 and 16 rows: the last row is somebody's.
TEST_P(DecodeSplitTest, TheLastByteOfTheWorkspaceIsUsed) {
  for (int splits : {2, 4, 7}) {
    for (int group : {1, 4, 24}) {
      for (int dim : {64, 128}) {
        SCOPED_TRACE(::testing::Message() << splits << " splits, group "
                                          << group << ", dim " << dim);
        const Problem problem =
            MakeProblem({.dtype = dtype(),
                         .num_q_heads = 2 * group,
                         .num_kv_heads = 2,
                         .head_dim = dim,
                         .context_lens = {20, 16 * splits}});
        DecodeSession session(kind(), problem);
        const DecodePlan plan = session.Plan(ForceSplits(splits)).value();
        GuardedBuffer workspace(kind(), plan.workspace_bytes);
        const RunContext context{
            .workspace = {workspace.data(), workspace.bytes()}};
        ASSERT_TRUE(backend().InitWorkspace(plan, context).ok());
        ASSERT_TRUE(session.RunIn(plan, context).ok());
        EXPECT_NE(workspace.Download().back(), std::byte{0xff});
      }
    }
  }
}

TEST_P(DecodeSplitTest, V1NeedsNoWorkspace) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {64, 64}});
  DecodeSession session(kind(), problem);
  const DecodePlan plan = session.Plan(ForceV1()).value();
  EXPECT_EQ(plan.workspace_bytes, 0u);
  EXPECT_TRUE(session.RunIn(plan, RunContext{}).ok());
}

// What a failing call must leave alone.
void ExpectUntouched(const DecodeSession& session, const DecodePlan& plan) {
  const DecodeResult result = session.Collect(plan);
  for (std::byte b : result.output) ASSERT_EQ(b, std::byte{0xff});
  for (float lse : result.lse) ASSERT_TRUE(std::isnan(lse));
}

TEST_P(DecodeSplitTest, AWorkspaceThatIsTooSmallIsRefused) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {64, 64}});
  DecodeSession session(kind(), problem);
  const DecodePlan plan = session.Plan(ForceSplits(4)).value();
  const PoisonedWorkspace whole(kind(), plan);
  RunContext context = whole.context();
  --context.workspace.bytes;
  const absl::Status status = session.RunIn(plan, context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  ExpectUntouched(session, plan);
  EXPECT_EQ(session.RunIn(plan, RunContext{}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_P(DecodeSplitTest, AMisalignedWorkspaceIsRefused) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {64, 64}});
  DecodeSession session(kind(), problem);
  const DecodePlan plan = session.Plan(ForceSplits(4)).value();
  GuardedBuffer large(kind(), plan.workspace_bytes + 256);
  const RunContext context{
      .workspace = {static_cast<std::byte*>(large.data()) + 8,
                    plan.workspace_bytes}};
  const absl::Status status = session.RunIn(plan, context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  ExpectUntouched(session, plan);
}

TEST_P(DecodeSplitTest, APlanOfAnotherShapeIsRefused) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {64, 64}});
  const Problem other = MakeProblem(
      {.dtype = dtype(), .head_dim = 64, .context_lens = {64, 64, 1}});
  DecodeSession session(kind(), problem);
  const DecodePlan plan = DecodeSession(kind(), other).Plan(ForceV1()).value();
  session.PoisonOutputs();
  const absl::Status status = session.RunIn(plan, RunContext{}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  ExpectUntouched(session, plan);
}

TEST_P(DecodeSplitTest, APlanOfAnotherDeviceIsRefused) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {64, 64}});
  DecodeSession session(kind(), problem);
  DecodePlan plan = session.Plan(ForceV1()).value();
  ++plan.device_fingerprint;
  EXPECT_EQ(backend().Prepare(plan).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(backend().Run(plan, session.args(), RunContext{}).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace paged::testing
