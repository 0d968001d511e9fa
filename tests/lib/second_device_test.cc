// Two GPUs in one process: the second one's backend, while the first is
// current.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "paged/cuda_backend.h"
#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/support/cuda_memory.h"

namespace paged::testing {
namespace {

constexpr int kSecond = 1;

class CudaSecondDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = MakeCudaBackend({.device = kSecond});
    if (!backend.ok()) GTEST_SKIP() << backend.status();
    backend_ = *std::move(backend);
  }
  Backend& backend() const { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

// Everything on the second GPU, called with the first one current.
absl::StatusOr<DecodeResult> RunOnSecond(Backend& backend,
                                         const Problem& problem,
                                         const DecodeOptions& options) {
  std::unique_ptr<DecodeSession> session;
  std::unique_ptr<CudaStream> stream;
  {
    const CudaDeviceScope scope(kSecond);
    session = std::make_unique<DecodeSession>(BackendKind::kCuda, problem);
    session->PoisonOutputs();
    stream = std::make_unique<CudaStream>();
  }
  const DecodePlan plan = PlanDecode(problem.shape, backend, options).value();
  absl::Status status = backend.Prepare(plan);
  const RunContext context{
      .stream = stream->get(),
      .workspace = backend.Reserve(plan.workspace_bytes).value()};
  status.Update(backend.InitWorkspace(plan, context));
  status.Update(backend.Run(plan, session->args(), context));
  status.Update(backend.Synchronize(context.stream));
  if (!status.ok()) return status;
  EXPECT_EQ(CudaCurrentDevice(), 0);
  const CudaDeviceScope scope(kSecond);
  return session->Collect(plan);
}

// BR-177, 178: each kernel runs on the first GPU before, so that what is set
// once for a kernel must be set for the second GPU as well. Rings of head_dim
// 256 take most of the shared memory that there is.
TEST_F(CudaSecondDeviceTest, IsRightWhileTheFirstIsCurrent) {
  for (int head_dim : {64, 128, 256}) {
    const Problem problem = MakeProblem({.num_q_heads = 8,
                                         .num_kv_heads = 2,
                                         .head_dim = head_dim,
                                         .context_lens = {700, 33, 0, 131}});
    const Oracle oracle = OracleFor(BackendKind::kCuda, problem);
    std::vector<DecodeOptions> plans = ForcedPlans(backend());
    plans.push_back(ForceChunks());
    for (const DecodeOptions& options : plans) {
      EXPECT_TRUE(
          IsNear(RunOnce(BackendKind::kCuda, problem, options), oracle));
      const absl::StatusOr<DecodeResult> second =
          RunOnSecond(backend(), problem, options);
      ASSERT_TRUE(second.ok()) << second.status();
      EXPECT_TRUE(IsNear(*second, oracle)) << ToString(second->plan);
    }
  }
}

}  // namespace
}  // namespace paged::testing
