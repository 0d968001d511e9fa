// Every compiled kernel by name: dispatch prefers a few of them, and the
// others must not rot.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/core/instance.h"
#include "paged/decode.h"
#include "paged/internal/device_rules.h"
#include "paged/internal/lower.h"
#include "tests/support/cuda_memory.h"
#include "tests/support/decode_session.h"

namespace paged::testing {
namespace {

using CudaInstanceTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(
    Cuda, CudaInstanceTest,
    ::testing::Values(BackendCase{BackendKind::kCuda, DType::kF16},
                      BackendCase{BackendKind::kCuda, DType::kBF16},
                      BackendCase{BackendKind::kCuda, DType::kF32},
                      BackendCase{BackendKind::kCuda, DType::kFp8E4M3},
                      BackendCase{BackendKind::kCuda, DType::kFp8E5M2},
                      BackendCase{BackendKind::kCuda, DType::kInt8}),
    CaseName);

// The dtype of queries over a cache: its own, where that can be.
DType QueryDTypeOf(DType dtype) {
  return SizeOf(dtype) == 1 ? DType::kBF16 : dtype;
}

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
        const Problem problem =
            MakeProblem({.dtype = dtype(),
                         .query_dtype = QueryDTypeOf(dtype()),
                         .num_q_heads = config.max_rows + 4,
                         .num_kv_heads = 2,
                         .head_dim = config.key_dim,
                         .value_dim = config.value_dim,
                         .block_size = block_size,
                         .context_lens = context_lens});
        const Oracle oracle = OracleFor(kind(), problem);
        DecodeSession session(kind(), problem);
        for (DecodeOptions options :
             {ForceV1(), ForceSplits(1), ForceSplits(5)}) {
          options.instance = {config.shape.warps, config.shape.stages,
                              config.max_rows, config.is_general(),
                              !config.has_tensor_cores()};
          const absl::StatusOr<DecodeResult> result = session.Run(options);
          // A device may lack the shared memory, but says so.
          if (absl::IsInvalidArgument(result.status())) continue;
          ASSERT_TRUE(result.ok()) << result.status();
          EXPECT_EQ(result->plan.instance, internal::InstanceOf(config));
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
  const Problem problem = MakeProblem({.dtype = dtype(),
                                       .query_dtype = QueryDTypeOf(dtype()),
                                       .head_dim = 64,
                                       .context_lens = {20, 30}});
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
