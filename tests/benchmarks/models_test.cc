// One row per model that people run, with its window, cap, sinks or slopes.
#include "benchmarks/models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/lib/decode_checks.h"

namespace paged::testing {
namespace {

using benchmarks::kModels;
using benchmarks::Model;

class ModelsTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  void SetUp() override {
    const auto backend = SharedBackend(GetParam());
    if (!backend.ok()) GTEST_SKIP() << backend.status();
  }
};
INSTANTIATE_TEST_SUITE_P(Cpu, ModelsTest, ::testing::Values(BackendKind::kCpu));
INSTANTIATE_TEST_SUITE_P(Cuda, ModelsTest,
                         ::testing::Values(BackendKind::kCuda));

// Long enough that the window or the chunk hides something.
std::vector<int32_t> ContextsOf(const Model& model) {
  const int hides = std::max(model.window, model.attention_chunk);
  if (hides > 1024) return {hides + 70};
  return {1, 40, 150 + hides};
}

TEST_P(ModelsTest, EveryModelMatchesTheOracle) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.name);
    Problem problem = MakeProblem({.dtype = DType::kBF16,
                                   .num_q_heads = model.num_q_heads,
                                   .num_kv_heads = model.num_kv_heads,
                                   .head_dim = model.head_dim,
                                   .context_lens = ContextsOf(model),
                                   .window = model.window,
                                   .attention_chunk = model.attention_chunk,
                                   .soft_cap = model.soft_cap,
                                   .has_alibi = model.has_alibi,
                                   .has_sink_logits = model.has_sink_logits});
    problem.shape.scale = model.scale;
    EXPECT_TRUE(IsNear(RunOnce(GetParam(), problem, {}),
                       OracleFor(GetParam(), problem)));
  }
}

}  // namespace
}  // namespace paged::testing
