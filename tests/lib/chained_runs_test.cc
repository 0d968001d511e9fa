// Runs that read what the run before them wrote, as the layers of a model do.
// Small grids are launched before their predecessor has ended
// (DecodePlan::starts_early), and must not look at its output until then.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/guarded_buffer.h"

namespace paged::testing {
namespace {

using ChainedRunsTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, ChainedRunsTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, ChainedRunsTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

constexpr int kNumRuns = 24;

enum class Waits { kAtTheEnd, kAfterEachRun };

// Each run's query is the output of the one before. Outputs are NaN before, in
// memory of their own: a query that is read too early is NaN, and so are all
// that follow.
std::vector<std::vector<std::byte>> RunChain(BackendKind kind,
                                             const Problem& problem,
                                             const DecodeOptions& options,
                                             Waits waits) {
  DecodeSession session(kind, problem);
  Backend& backend = session.backend();
  const DecodePlan plan = session.Plan(options).value();
  const PoisonedWorkspace workspace(kind, plan);
  EXPECT_TRUE(backend.Prepare(plan).ok());
  std::vector<std::unique_ptr<GuardedBuffer>> outputs;
  for (int run = 0; run < kNumRuns; ++run) {
    outputs.push_back(
        std::make_unique<GuardedBuffer>(kind, problem.query.size()));
    outputs.back()->Fill(std::byte{0xff});
  }
  // Behind this the whole chain is enqueued before its first run begins.
  if (kind == BackendKind::kCuda && waits == Waits::kAtTheEnd) {
    CudaOccupyDefaultStream();
  }
  DecodeArgs args = session.args();
  for (const auto& output : outputs) {
    args.output = output->data();
    const absl::Status status = backend.Run(plan, args, workspace.context());
    EXPECT_TRUE(status.ok()) << status;
    args.query = args.output;
    if (waits == Waits::kAfterEachRun) {
      EXPECT_TRUE(backend.Synchronize(nullptr).ok());
    }
  }
  EXPECT_TRUE(backend.Synchronize(nullptr).ok());
  std::vector<std::vector<std::byte>> results;
  for (const auto& output : outputs) {
    EXPECT_TRUE(output->AreCanariesIntact());
    results.push_back(output->Download());
  }
  return results;
}

// BR-094, and 091: under every partition and reduction.
TEST_P(ChainedRunsTest, ARunReadsWhatTheOneBeforeItWrote) {
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .num_q_heads = 8,
                                       .num_kv_heads = 2,
                                       .head_dim = 64,
                                       .context_lens = {700, 33}});
  std::vector<DecodeOptions> plans = ForcedPlans(backend());
  plans.push_back(ForceChunks());
  for (const DecodeOptions& options : plans) {
    const DecodePlan plan =
        PlanDecode(problem.shape, backend(), options).value();
    SCOPED_TRACE(ToString(plan));
    const auto in_order =
        RunChain(kind(), problem, options, Waits::kAfterEachRun);
    // The chain depends on what it reads: no two neighbours are equal.
    ASSERT_NE(in_order[0], in_order[1]);
    ASSERT_EQ(RunChain(kind(), problem, options, Waits::kAtTheEnd), in_order);
    if (backend().profile().early_start_us > 0 &&
        options.variant == Variant::kV1) {
      EXPECT_TRUE(plan.starts_early);
    }
  }
}

}  // namespace
}  // namespace paged::testing
