// Ragged batches: the schedule that layers share, and what it may be used for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/lib/shapes.h"
#include "tests/support/cuda_memory.h"

namespace paged::testing {
namespace {

using DecodeChunksTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, DecodeChunksTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, DecodeChunksTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// Memory of the backend's for a plan's schedule, poisoned.
struct ScheduleMemory {
  ScheduleMemory(BackendKind kind, const DecodePlan& plan)
      : buffer(kind, plan.schedule_bytes),
        schedule{.data = buffer.data(), .bytes = buffer.bytes()} {
    buffer.Fill(std::byte{0xff});
  }
  GuardedBuffer buffer;
  Schedule schedule;
};

ProblemSpec Ragged(DType dtype, int group, std::vector<int32_t> lens) {
  return {.dtype = dtype,
          .num_q_heads = 2 * group,
          .num_kv_heads = 2,
          .head_dim = 128,
          .context_lens = std::move(lens)};
}

// BR-080, 083: one long sequence among short and empty ones.
TEST_P(DecodeChunksTest, RaggedBatchesMatchTheOracle) {
  std::vector<int32_t> lens(40, 3);
  for (std::size_t i = 0; i < lens.size(); i += 3) lens[i] = 0;
  lens[17] = 5000;
  lens[30] = 2100;
  for (int group : {1, 4, 20}) {
    ExpectRight(kind(), MakeProblem(Ragged(dtype(), group, lens)), {4});
  }
}

TEST_P(DecodeChunksTest, LayersShareOneSchedule) {
  const std::vector<int32_t> lens = {700, 0, 12, 3000, 1};
  const Problem problem = MakeProblem(Ragged(dtype(), 4, lens));
  const Oracle oracle = OracleFor(kind(), problem);
  DecodeSession session(kind(), problem);
  const DecodePlan plan = session.Plan(ForceChunks()).value();
  const PoisonedWorkspace workspace(kind(), plan);
  ScheduleMemory memory(kind(), plan);
  RunContext context = workspace.context();
  const DecodeResult alone = session.RunIn(plan, context).value();
  ASSERT_TRUE(backend()
                  .MakeSchedule(plan, session.args().context_lens,
                                memory.schedule, nullptr)
                  .ok());
  context.schedule = &memory.schedule;
  for (int layer = 0; layer < 3; ++layer) {
    const DecodeResult result = session.RunIn(plan, context).value();
    EXPECT_TRUE(IsNear(result, oracle));
    EXPECT_TRUE(BitEqual(result, alone));
  }
  EXPECT_TRUE(memory.buffer.AreCanariesIntact());
  EXPECT_TRUE(workspace.AreCanariesIntact());
}

// The counters are zero again after each run, so that plans may take turns.
TEST_P(DecodeChunksTest, PlansTakeTurnsInOneWorkspace) {
  const Problem problem =
      MakeProblem(Ragged(dtype(), 4, {900, 0, 12, 3000, 1, 64}));
  const Oracle oracle = OracleFor(kind(), problem);
  DecodeSession session(kind(), problem);
  std::vector<DecodePlan> plans = {session.Plan(ForceChunks()).value()};
  for (const DecodeOptions& options : ForcedPlans(backend())) {
    plans.push_back(session.Plan(options).value());
  }
  const DecodePlan& largest = *std::max_element(
      plans.begin(), plans.end(),
      [](auto& a, auto& b) { return a.workspace_bytes < b.workspace_bytes; });
  const PoisonedWorkspace workspace(kind(), largest);
  for (int turn = 0; turn < 3; ++turn) {
    for (const DecodePlan& plan : plans) {
      EXPECT_TRUE(
          IsNear(session.RunIn(plan, workspace.context()).value(), oracle))
          << ToString(plan);
    }
  }
}

TEST_P(DecodeChunksTest, LengthsBeyondTheCapacityAreClamped) {
  const Problem problem = MakeProblem(Ragged(dtype(), 4, {640, 640}));
  DecodeSession session(kind(), problem);
  const DecodeResult full = session.Run(ForceChunks()).value();
  session.SetContextLens({1000000, 640});
  EXPECT_TRUE(BitEqual(session.Run(ForceChunks()).value(), full));
}

TEST_P(DecodeChunksTest, RefusesWhatIsNotASchedule) {
  const Problem problem = MakeProblem(Ragged(dtype(), 4, {700, 30}));
  DecodeSession session(kind(), problem);
  const DecodePlan plan = session.Plan(ForceChunks()).value();
  const DecodePlan whole = session.Plan(ForceV1()).value();
  const PoisonedWorkspace workspace(kind(), plan);
  ScheduleMemory memory(kind(), plan);
  const int32_t* lens = session.args().context_lens;
  RunContext context = workspace.context();
  context.schedule = &memory.schedule;
  const auto code = [](const absl::Status& status) { return status.code(); };

  EXPECT_EQ(code(session.RunIn(plan, context).status()),
            absl::StatusCode::kFailedPrecondition)
      << "not made yet";
  EXPECT_EQ(code(backend().MakeSchedule(whole, lens, memory.schedule, nullptr)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      code(backend().MakeSchedule(plan, nullptr, memory.schedule, nullptr)),
      absl::StatusCode::kInvalidArgument);
  Schedule small = memory.schedule;
  small.bytes = plan.schedule_bytes - 1;
  EXPECT_EQ(code(backend().MakeSchedule(plan, lens, small, nullptr)),
            absl::StatusCode::kResourceExhausted);

  ASSERT_TRUE(
      backend().MakeSchedule(plan, lens, memory.schedule, nullptr).ok());
  EXPECT_TRUE(session.RunIn(plan, context).ok());
  EXPECT_EQ(code(session.RunIn(whole, context).status()),
            absl::StatusCode::kInvalidArgument);
  DecodePlan other = plan;
  other.chunking.max_extra_chunks /= 2;
  EXPECT_EQ(code(session.RunIn(other, context).status()),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ChunkPlanTest, RaggedLengthsMakeChunksACandidateAndUniformOnesDoNot) {
  DecodeShape shape = ShapeOf({64, 8, 4, 131072});
  shape.expected_context_len = 3000;
  const auto plan = [&](const DecodeOptions& options) {
    return MakePlan(ValidateShape(shape).value(), H200Profile(), options);
  };
  EXPECT_NE(plan({})->partition, Partition::kChunks);
  shape.lengths = LengthSpread::kRagged;
  EXPECT_EQ(plan({})->partition, Partition::kChunks);
  EXPECT_EQ(plan({})->reduction, Reduction::kLastCta);
  EXPECT_GT(plan({})->schedule_bytes, 64u * 32u);
  EXPECT_EQ(plan({.splits = 4})->partition, Partition::kSplits);
  EXPECT_EQ(plan({.variant = Variant::kV1})->partition, Partition::kWhole);
}

TEST(ChunkPlanTest, TheCountersBoundTheChunks) {
  for (int num_kv_heads : {1, 8, 128, 8192, 20000}) {
    const DecodePlan plan =
        MakePlan(
            ValidateShape(ShapeOf({100, num_kv_heads, 1, 131072, 64})).value(),
            H200Profile(), {.partition = Partition::kChunks})
            .value();
    EXPECT_LE(2 * int64_t{plan.chunking.max_extra_chunks} * num_kv_heads,
              16384);
    EXPECT_EQ(plan.num_ctas,
              (100 + plan.chunking.max_extra_chunks) * int64_t{num_kv_heads});
  }
}

TEST(ChunkPlanTest, APartitionAndWhatRulesItOutAreRefused) {
  const auto resolve = [](const DecodeOptions& options) {
    return ResolveOptions(
               options,
               [](const char*) { return std::optional<std::string>(); })
        .status();
  };
  EXPECT_TRUE(resolve({.partition = Partition::kChunks}).ok());
  EXPECT_EQ(resolve({.variant = Variant::kV1, .partition = Partition::kChunks})
                .message(),
            "partition must be auto or whole with variant v1; got chunks");
  EXPECT_EQ(resolve({.splits = 4, .partition = Partition::kChunks}).message(),
            "partition must be auto or splits with splits 4; got chunks");
  EXPECT_EQ(resolve({.splits = 4, .partition = Partition::kWhole}).message(),
            "partition must be auto or splits with splits 4; got whole");
  EXPECT_EQ(resolve({.reduction = Reduction::kCluster,
                     .partition = Partition::kChunks})
                .message(),
            "partition must be auto or splits with reduction cluster; got "
            "chunks");
  EXPECT_EQ(
      resolve({.variant = Variant::kThrust, .partition = Partition::kSplits})
          .message(),
      "partition must be auto with variant thrust; got splits");
}

}  // namespace
}  // namespace paged::testing
