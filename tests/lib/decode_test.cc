// The convenience call, what dispatch chooses by itself, and the baselines.
#include "paged/decode.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/lib/decode_checks.h"

namespace paged::testing {
namespace {

using DecodeTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, DecodeTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DecodeTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

// Shapes that every variant has to serve.
std::vector<Problem> BaselineProblems(DType dtype) {
  return {MakeProblem({.dtype = dtype,
                       .num_q_heads = 4,
                       .num_kv_heads = 4,
                       .head_dim = 64,
                       .context_lens = {10, 25}}),
          MakeProblem({.dtype = dtype,
                       .num_q_heads = 6,
                       .num_kv_heads = 2,
                       .head_dim = 64,
                       .block_size = 3,
                       .context_lens = {1, 0, 77, 2, 3, 4},
                       .layout = Layout::kInterleaved,
                       .row_padding = 8}),
          MakeProblem({.dtype = dtype,
                       .num_q_heads = 8,
                       .num_kv_heads = 1,
                       .head_dim = 128,
                       .context_lens = {0, 0, 300},
                       .layout = Layout::kHeadMajor}),
          MakeProblem({.dtype = dtype,
                       .head_dim = 64,
                       .context_lens = {33, 0},
                       .max_context_len = 100,
                       .layout = Layout::kManyLayers,
                       .poison = Poison::kInf})};
}

TEST_P(DecodeTest, WhatDispatchChoosesMatchesTheOracle) {
  for (const Problem& problem : BaselineProblems(dtype())) {
    EXPECT_TRUE(
        IsNear(RunOnce(kind(), problem, {}), OracleFor(kind(), problem)));
  }
}

TEST_P(DecodeTest, OneCallPlansReservesRunsAndWaits) {
  for (const Problem& problem : BaselineProblems(dtype())) {
    for (const DecodeOptions& options : {DecodeOptions{}, ForceSplits(9)}) {
      DecodeSession session(kind(), problem);
      session.PoisonOutputs();
      const absl::Status status = Decode(session.args(), backend(), options);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(IsNear(session.Collect(session.Plan(options).value()),
                         OracleFor(kind(), problem)));
    }
  }
}

// The reference runs on the CPU alone; elsewhere it is refused, not replaced.
TEST_P(DecodeTest, TheReferenceMatchesTheOracleWhereItExists) {
  for (const Problem& problem : BaselineProblems(dtype())) {
    const absl::StatusOr<DecodeResult> result =
        DecodeSession(kind(), problem).Run(ForceVariant(Variant::kReference));
    if (!is_cpu()) {
      EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->plan.variant, Variant::kReference);
    EXPECT_TRUE(IsNear(*result, OracleFor(kind(), problem)));
  }
}

TEST_P(DecodeTest, ThrustMatchesTheOracle) {
  for (const Problem& problem : BaselineProblems(dtype())) {
    const absl::StatusOr<DecodeResult> result =
        DecodeSession(kind(), problem).Run(ForceVariant(Variant::kThrust));
    if (absl::IsUnimplemented(result.status())) {
      GTEST_SKIP() << result.status();
    }
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->plan.variant, Variant::kThrust);
    EXPECT_TRUE(IsNear(*result, OracleFor(kind(), problem)));
  }
}

// BR-104: one segment per row.
TEST_P(DecodeTest, ThrustServesSegmentCountsAround500) {
  for (int num_seqs : {499, 500, 501}) {
    const Problem problem =
        MakeProblem({.dtype = dtype(),
                     .num_q_heads = 1,
                     .num_kv_heads = 1,
                     .head_dim = 64,
                     .context_lens = std::vector<int32_t>(
                         static_cast<std::size_t>(num_seqs), 3)});
    const absl::StatusOr<DecodeResult> result =
        DecodeSession(kind(), problem).Run(ForceVariant(Variant::kThrust));
    if (absl::IsUnimplemented(result.status())) {
      GTEST_SKIP() << result.status();
    }
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(IsNear(*result, OracleFor(kind(), problem)));
  }
}

// Plumbing: a scale that is given is the scale that is used.
TEST_P(DecodeTest, TheScaleCounts) {
  Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {50, 20}});
  const DecodeResult plain = RunOnce(kind(), problem, ForceV1());
  problem.shape.scale = 0.5f;
  ExpectRight(kind(), problem);
  EXPECT_FALSE(BitEqual(RunOnce(kind(), problem, ForceV1()), plain));
}

TEST_P(DecodeTest, LseIsOptional) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {50, 0}});
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(3)}) {
    const DecodeResult expected = RunOnce(kind(), problem, options);
    DecodeSession session(kind(), problem);
    session.PoisonOutputs();
    DecodeArgs args = session.args();
    args.lse = nullptr;
    ASSERT_TRUE(Decode(args, backend(), options).ok());
    EXPECT_EQ(session.Collect(expected.plan).output, expected.output);
  }
}

// BR-058: the answer is that of the run, before anything runs.
TEST_P(DecodeTest, SupportsReasonIsWhatARunWouldSay) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {20}});
  DecodeSession session(kind(), problem);
  const DecodeArgs args = session.args();
  EXPECT_TRUE(SupportsReason(args, backend()).ok());

  DecodeArgs broken = args;
  broken.shape.num_q_heads = 3;
  EXPECT_EQ(SupportsReason(broken, backend()).message(),
            "num_q_heads must be a multiple of num_kv_heads; got 3 and 2");
  broken = args;
  broken.output = nullptr;
  EXPECT_EQ(SupportsReason(broken, backend()).message(),
            "output must not be null");
  broken = args;
  broken.query = static_cast<const std::byte*>(args.query) + 2;
  EXPECT_EQ(SupportsReason(broken, backend()).ok(), is_cpu());
  DecodeOptions options = ForceVariant(Variant::kReference);
  EXPECT_EQ(SupportsReason(args, backend(), options).ok(), is_cpu());
  options = ForceV1();
  options.splits = 2;
  EXPECT_EQ(SupportsReason(args, backend(), options).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paged::testing
