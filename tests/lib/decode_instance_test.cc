// Every compiled kernel by name: dispatch prefers a few of them, and the
// others must not rot.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/core/instance.h"
#include "paged/decode.h"
#include "paged/internal/lower.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/decode_session.h"

namespace paged::testing {
namespace {

using CudaInstanceTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cuda, CudaInstanceTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-021, 057: batches of one among them. The lse of each is that of the
// oracle, in the same base and layout.
TEST_P(CudaInstanceTest, EveryInstanceMatchesTheOracle) {
  int num_run = 0;
  for (const InstanceConfig& config : kInstances) {
    if (config.element != internal::KindOf(dtype())) continue;
    for (const std::vector<int32_t>& context_lens :
         {std::vector<int32_t>{1}, std::vector<int32_t>{1000},
          std::vector<int32_t>{17, 0, 16, 333, 2}}) {
      for (int block_size : {16, 12, 64}) {
        const Problem problem = MakeProblem({.dtype = dtype(),
                                             .num_q_heads = 10,
                                             .num_kv_heads = 2,
                                             .head_dim = config.head_dim,
                                             .block_size = block_size,
                                             .context_lens = context_lens});
        const Oracle oracle = OracleFor(kind(), problem);
        DecodeSession session(kind(), problem);
        for (DecodeOptions options :
             {ForceV1(), ForceSplits(1), ForceSplits(5)}) {
          options.instance = {config.shape.warps, config.shape.stages};
          const absl::StatusOr<DecodeResult> result = session.Run(options);
          // A device may lack the shared memory, but says so.
          if (absl::IsInvalidArgument(result.status())) continue;
          ASSERT_TRUE(result.ok()) << result.status();
          EXPECT_EQ(result->plan.instance.warps, config.shape.warps);
          EXPECT_EQ(result->plan.instance.stages, config.shape.stages);
          EXPECT_TRUE(IsNear(*result, oracle));
          ++num_run;
        }
      }
    }
  }
  EXPECT_GT(num_run, 0);
}

// BR-082: a grid of 2^32 CTAs is cut to none, which CUDA refuses.
TEST_P(CudaInstanceTest, ALaunchErrorIsReturnedAndDoesNotStick) {
  const Problem problem =
      MakeProblem({.dtype = dtype(), .head_dim = 64, .context_lens = {20, 30}});
  DecodeSession session(kind(), problem);
  const DecodePlan plan = session.Plan(ForceSplits(2)).value();
  const PoisonedWorkspace workspace(kind(), plan);
  DecodePlan broken = plan;
  broken.num_splits = 1 << 30;  // times two sequences and two kv heads
  EXPECT_FALSE(session.RunIn(broken, workspace.context()).ok());
  EXPECT_STREQ(CudaTakeError(), "");
  EXPECT_TRUE(IsNear(session.RunIn(plan, workspace.context()).value(),
                     OracleFor(kind(), problem)));
}

}  // namespace
}  // namespace paged::testing
