// Loops of the CPU backend on threads of the caller's.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "paged/cpu_backend.h"
#include "paged/decode.h"
#include "tests/support/decode_session.h"

namespace paged::testing {
namespace {

using Body = std::function<void(int64_t)>;

void Backwards(int64_t count, const Body& body) {
  for (int64_t i = count; i-- > 0;) body(i);
}

// Every third iteration each, and none on the calling thread.
void ThreeHelpers(int64_t count, const Body& body) {
  std::vector<std::thread> helpers;
  for (int64_t first = 0; first < 3; ++first) {
    helpers.emplace_back([=, &body] {
      for (int64_t i = first; i < count; i += 3) body(i);
    });
  }
  for (std::thread& helper : helpers) helper.join();
}

std::unique_ptr<Backend> BackendOn(CpuExecutor executor) {
  return MakeCpuBackend({.num_threads = 3, .executor = std::move(executor)});
}

// In a workspace of its own, so that several may run at once.
DecodeResult RunOn(Backend& backend, const Problem& problem,
                   const DecodeOptions& options) {
  DecodeSession session(BackendKind::kCpu, problem);
  session.PoisonOutputs();
  const DecodePlan plan = PlanDecode(problem.shape, backend, options).value();
  const Buffer workspace =
      backend.Allocate(plan.workspace_bytes, MemoryKind::kDevice).value();
  const RunContext context{
      .workspace = {.data = workspace.data(), .bytes = workspace.bytes()}};
  EXPECT_TRUE(backend.InitWorkspace(plan, context).ok());
  EXPECT_TRUE(backend.Run(plan, session.args(), context).ok());
  return session.Collect(plan);
}

Problem RaggedProblem() {
  return MakeProblem({.num_q_heads = 8, .context_lens = {300, 1, 0, 77, 1700}});
}

TEST(CpuExecutorTest, EveryBitIsThatOfTheBackendsOwnThreads) {
  const Problem problem = RaggedProblem();
  const std::unique_ptr<Backend> own = MakeCpuBackend({.num_threads = 3});
  for (const CpuExecutor& executor :
       {CpuExecutor(Backwards), CpuExecutor(ThreeHelpers)}) {
    const std::unique_ptr<Backend> theirs = BackendOn(executor);
    EXPECT_EQ(theirs->profile().num_units, 3);
    for (const DecodeOptions& options :
         {ForceV1(), ForceSplits(6),
          DecodeOptions{.partition = Partition::kChunks}}) {
      EXPECT_TRUE(BitEqual(RunOn(*theirs, problem, options),
                           RunOn(*own, problem, options)));
    }
  }
}

TEST(CpuExecutorTest, IsHandedLoopsOfTwoIterationsAndMoreAlone) {
  std::vector<int64_t> counts;
  const std::unique_ptr<Backend> backend =
      BackendOn([&](int64_t count, const Body& body) {
        counts.push_back(count);
        Backwards(count, body);
      });
  RunOn(*backend, RaggedProblem(), ForceV1());
  EXPECT_FALSE(counts.empty());
  for (int64_t count : counts) EXPECT_GE(count, 2);

  counts.clear();
  // One program: one sequence, one kv head.
  RunOn(
      *backend,
      MakeProblem({.num_q_heads = 1, .num_kv_heads = 1, .context_lens = {50}}),
      ForceV1());
  EXPECT_TRUE(counts.empty());

  DecodeSession session(BackendKind::kCpu, RaggedProblem());
  DecodeArgs nothing = session.args();
  nothing.shape.num_seqs = 0;
  for (const DecodeOptions& options : {ForceV1(), ForceSplits(6)}) {
    EXPECT_TRUE(Decode(nothing, *backend, options).ok());
  }
  EXPECT_TRUE(counts.empty());
}

TEST(CpuExecutorTest, WhatItThrowsReachesTheCallerAndTheNextRunIsGood) {
  bool is_broken = false;
  const std::unique_ptr<Backend> backend =
      BackendOn([&](int64_t count, const Body& body) {
        if (is_broken) throw std::runtime_error("no threads today");
        Backwards(count, body);
      });
  const Problem problem = RaggedProblem();
  DecodeSession session(BackendKind::kCpu, problem);
  const DecodeResult before = RunOn(*backend, problem, ForceSplits(6));
  is_broken = true;
  EXPECT_THROW(
      { const auto status = Decode(session.args(), *backend, ForceSplits(6)); },
      std::runtime_error);
  is_broken = false;
  EXPECT_TRUE(BitEqual(RunOn(*backend, problem, ForceSplits(6)), before));
}

// A caller whose own loop runs decodes, on the executor that they use as well.
TEST(CpuExecutorTest, MayBeUsedFromInsideItsOwnLoops) {
  const Problem problem = RaggedProblem();
  const std::unique_ptr<Backend> backend = BackendOn(ThreeHelpers);
  const DecodeResult alone = RunOn(*backend, problem, ForceSplits(6));
  std::atomic<int> num_equal = 0;
  ThreeHelpers(6, [&](int64_t) {
    if (BitEqual(RunOn(*backend, problem, ForceSplits(6)), alone)) ++num_equal;
  });
  EXPECT_EQ(num_equal, 6);
}

}  // namespace
}  // namespace paged::testing
