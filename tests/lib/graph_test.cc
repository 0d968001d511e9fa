// CUDA graphs, streams and threads. The lengths of a batch live on the device,
// so one captured graph serves them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/decode_session.h"

namespace paged::testing {
namespace {

using CudaGraphTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cuda, CudaGraphTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

// A batch at its capacity; shorter contexts are prefixes of its sequences.
ProblemSpec Capacity(DType dtype) {
  return {.dtype = dtype,
          .num_q_heads = 8,
          .num_kv_heads = 2,
          .head_dim = 128,
          .context_lens = std::vector<int32_t>(6, 700)};
}

// The oracle's problem at other lengths: sequences cut short.
Problem Shortened(const Problem& problem,
                  const std::vector<int32_t>& context_lens) {
  Problem shorter = problem;
  shorter.spec.context_lens = context_lens;
  return shorter;
}

std::vector<int32_t> RandomLens(std::mt19937& random, std::size_t count,
                                uint32_t largest) {
  std::vector<int32_t> lens(count);
  for (int32_t& len : lens) {
    len = static_cast<int32_t>(random() % (largest + 1));
  }
  return lens;
}

// BR-098, 099, 100: lengths cross tile borders and fall below the number of
// splits.
TEST_P(CudaGraphTest, AGraphCapturedAtLengthOneServesEveryLength) {
  const Problem problem = MakeProblem(Capacity(dtype()));
  std::mt19937 random(1);
  std::vector<DecodeOptions> plans = ForcedPlans(backend());
  plans.push_back(DecodeOptions{});
  plans.push_back(ForceSplits(64));
  plans.push_back(ForceChunks());
  for (const DecodeOptions& options : plans) {
    DecodeSession session(kind(), problem);
    const DecodePlan plan = session.Plan(options).value();
    CudaStream stream;
    const PoisonedWorkspace workspace(kind(), plan, stream.get());
    ASSERT_TRUE(backend().Prepare(plan).ok());
    session.SetContextLens(std::vector<int32_t>(6, 1));
    absl::Status captured;
    CudaGraph graph(stream.get(), [&] {
      captured = backend().Run(plan, session.args(), workspace.context());
    });
    ASSERT_TRUE(captured.ok()) << captured;
    ASSERT_TRUE(graph.is_valid());
    for (int replay = 0; replay < 50; ++replay) {
      // Short ones first: growing and shrinking both happen.
      const std::vector<int32_t> lens =
          RandomLens(random, 6, replay % 2 == 0 ? 20 : 700);
      session.SetContextLens(lens);
      session.PoisonOutputs();
      graph.Launch(stream.get());
      ASSERT_TRUE(IsNear(session.Collect(plan),
                         OracleFor(kind(), Shortened(problem, lens))));
    }
    EXPECT_TRUE(workspace.AreCanariesIntact());
  }
}

TEST_P(CudaGraphTest, AReplayEqualsAnEagerRunToTheBit) {
  const Problem problem = MakeProblem(Capacity(dtype()));
  std::vector<DecodeOptions> plans = ForcedPlans(backend());
  plans.push_back(ForceChunks());
  for (const DecodeOptions& options : plans) {
    DecodeSession session(kind(), problem);
    const DecodePlan plan = session.Plan(options).value();
    CudaStream stream;
    const PoisonedWorkspace workspace(kind(), plan, stream.get());
    const DecodeResult eager = session.RunIn(plan, workspace.context()).value();
    CudaGraph graph(stream.get(), [&] {
      EXPECT_TRUE(
          backend().Run(plan, session.args(), workspace.context()).ok());
    });
    ASSERT_TRUE(graph.is_valid());
    session.PoisonOutputs();
    graph.Launch(stream.get());
    EXPECT_TRUE(BitEqual(session.Collect(plan), eager));
  }
}

// BR-104: an error of ours, and a capture that is still good for v1.
TEST_P(CudaGraphTest, ThrustRefusesACaptureAndLeavesItValid) {
  const Problem problem = MakeProblem(Capacity(dtype()));
  DecodeSession session(kind(), problem);
  const DecodePlan thrust =
      session.Plan(ForceVariant(Variant::kThrust)).value();
  const DecodePlan v1 = session.Plan(ForceV1()).value();
  CudaStream stream;
  const PoisonedWorkspace workspace(kind(), thrust, stream.get());
  ASSERT_TRUE(backend().Prepare(thrust).ok());
  ASSERT_TRUE(backend().Prepare(v1).ok());
  session.PoisonOutputs();
  absl::Status refused;
  absl::Status enqueued;
  CudaGraph graph(stream.get(), [&] {
    refused = backend().Run(thrust, session.args(), workspace.context());
    enqueued =
        backend().Run(v1, session.args(), RunContext{.stream = stream.get()});
  });
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_TRUE(enqueued.ok()) << enqueued;
  ASSERT_TRUE(graph.is_valid());
  graph.Launch(stream.get());
  EXPECT_TRUE(IsNear(session.Collect(v1), OracleFor(kind(), problem)));
  EXPECT_STREQ(CudaTakeError(), "");
}

// BR-179: two threads, two streams, two workspaces, one backend.
TEST_P(CudaGraphTest, ThreadsWithTheirOwnStreamsDoNotDisturbEachOther) {
  ProblemSpec large = Capacity(dtype());
  ProblemSpec small = large;
  small.context_lens = {3, 40};
  const auto repeat = [&](const ProblemSpec& spec, int splits, int* failures) {
    const Problem problem = MakeProblem(spec);
    const Oracle oracle = OracleFor(kind(), problem);
    DecodeSession session(kind(), problem);
    const DecodePlan plan = session.Plan(ForceSplits(splits)).value();
    CudaStream stream;
    const PoisonedWorkspace workspace(kind(), plan, stream.get());
    for (int i = 0; i < 300; ++i) {
      const absl::StatusOr<DecodeResult> result =
          session.RunIn(plan, workspace.context());
      if (!result.ok() || !IsNear(*result, oracle)) ++*failures;
    }
  };
  int failures[2] = {};
  std::thread first(repeat, large, 8, &failures[0]);
  std::thread second(repeat, small, 3, &failures[1]);
  first.join();
  second.join();
  EXPECT_EQ(failures[0], 0);
  EXPECT_EQ(failures[1], 0);
}

// BR-091: one bit pattern, ten thousand times, under every reduction.
TEST_P(CudaGraphTest, TenThousandRunsGiveTheSameBits) {
  const Problem problem = MakeProblem(Capacity(dtype()));
  std::vector<DecodeOptions> plans = {ForceV1(), ForceChunks()};
  for (Reduction reduction : ReductionsOf(backend(), 8)) {
    plans.push_back(ForceSplits(8));
    plans.back().reduction = reduction;
  }
  for (const DecodeOptions& options : plans) {
    DecodeSession session(kind(), problem);
    const DecodePlan plan = session.Plan(options).value();
    CudaStream stream;
    const PoisonedWorkspace workspace(kind(), plan, stream.get());
    const DecodeResult first = session.RunIn(plan, workspace.context()).value();
    for (int i = 0; i < 500; ++i) {
      // Nineteen runs back to back, and a look at the twentieth.
      for (int j = 0; j < 19; ++j) {
        ASSERT_TRUE(
            backend().Run(plan, session.args(), workspace.context()).ok());
      }
      ASSERT_TRUE(
          BitEqual(session.RunIn(plan, workspace.context()).value(), first));
    }
  }
}

}  // namespace
}  // namespace paged::testing
