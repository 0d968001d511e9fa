// A random walk over everything that a decode step may ask for, each problem
// against the oracle of float64.
//
//   PAGED_WALK_SEED=N    that problem alone, as a failure's line says
//   PAGED_WALK_COUNT=N   so many problems per backend instead of 20,000
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "paged/decode.h"
#include "paged/device_profile.h"
#include "paged/internal/device_rules.h"
#include "paged/plan.h"
#include "paged/validate.h"
#include "tests/support/decode_session.h"
#include "tests/walk/walk_spec.h"

namespace paged::testing {
namespace {

constexpr uint64_t kDefaultCount = 20'000;
// Parts of the walk, which ctest runs side by side.
constexpr uint64_t kParts = 16;

uint64_t FromEnvironment(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

// What a part of the walk did.
struct Tally {
  uint64_t num_right = 0;
  uint64_t num_empty = 0;                   // batches without a sequence
  std::map<std::string, uint64_t> refused;  // by what is not built
};

// The field that a refusal names: its first word.
std::string FieldOf(const absl::Status& status) {
  const std::string message(status.message());
  return message.substr(0, message.find(' '));
}

void Step(uint64_t seed, bool on_cuda, Tally& tally) {
  const WalkCase walk = WalkCaseOf(seed, on_cuda);
  SCOPED_TRACE(absl::StrCat("PAGED_WALK_SEED=", seed, ": ", ToString(walk)));
  BackendKind kind = walk.kind;
  // A processor without those vectors runs what it has.
  if (!SharedBackend(kind).ok()) kind = BackendKind::kCpu;
  Problem problem = MakeProblem(walk.spec);
  problem.shape.scale = walk.scale;
  DecodeSession session(kind, problem);
  DecodeOptions options = walk.options;
  // So does a GPU without clusters.
  if (options.reduction == Reduction::kCluster &&
      !internal::CanReduce(*options.reduction, session.backend().profile())) {
    options.reduction = Reduction::kLastCta;
  }
  const absl::Status supported =
      SupportsReason(session.args(), session.backend(), options);
  const absl::StatusOr<DecodeResult> result = session.Run(options);
  EXPECT_EQ(supported, result.status());
  if (absl::IsUnimplemented(result.status()) && on_cuda) {
    ++tally.refused[FieldOf(result.status())];
    return;
  }
  ASSERT_TRUE(result.ok()) << result.status();
  if (problem.num_seqs() == 0) {
    ++tally.num_empty;
    return;
  }
  EXPECT_TRUE(IsNear(*result, OracleFor(kind, problem)));
  ++tally.num_right;
}

class RandomWalkTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void Walk(bool on_cuda) {
    Tally tally;
    const uint64_t only = FromEnvironment("PAGED_WALK_SEED", 0);
    if (only != 0) return Step(only, on_cuda, tally);
    const uint64_t count = FromEnvironment("PAGED_WALK_COUNT", kDefaultCount);
    // Seeds count from 1: 0 is what an empty variable says.
    for (uint64_t seed = GetParam() + 1; seed <= count; seed += kParts) {
      Step(seed, on_cuda, tally);
      if (HasFailure()) return;
    }
    std::printf("%llu problems right, %llu empty",
                static_cast<unsigned long long>(tally.num_right),
                static_cast<unsigned long long>(tally.num_empty));
    for (const auto& [field, times] : tally.refused) {
      std::printf(", %llu refused for %s",
                  static_cast<unsigned long long>(times), field.c_str());
    }
    std::printf("\n");
    EXPECT_GT(tally.num_right, 0u);
  }
};

using CpuWalkTest = RandomWalkTest;
INSTANTIATE_TEST_SUITE_P(Cpu, CpuWalkTest,
                         ::testing::Range<uint64_t>(0, kParts));
TEST_P(CpuWalkTest, EveryProblemMatchesTheOracle) { Walk(false); }

using CudaWalkTest = RandomWalkTest;
INSTANTIATE_TEST_SUITE_P(Cuda, CudaWalkTest,
                         ::testing::Range<uint64_t>(0, kParts));
TEST_P(CudaWalkTest, EveryProblemMatchesTheOracle) {
  if (const auto cuda = SharedBackend(BackendKind::kCuda); !cuda.ok()) {
    GTEST_SKIP() << cuda.status();
  }
  Walk(true);
}

// What a walk on a GPU forces, planned without one.
TEST(WalkSpecTest, CudaCasesForceEveryEnding) {
  std::map<std::pair<Partition, Reduction>, int> endings;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const WalkCase walk = WalkCaseOf(seed, true);
    SCOPED_TRACE(absl::StrCat(seed, ": ", ToString(walk)));
    const absl::StatusOr<DecodeProblem> problem =
        ValidateShape(MakeProblem(walk.spec).shape);
    ASSERT_TRUE(problem.ok()) << problem.status();
    const absl::StatusOr<DecodePlan> plan =
        MakePlan(*problem, H200Profile(), walk.options);
    ASSERT_TRUE(plan.ok() || absl::IsUnimplemented(plan.status()))
        << plan.status();
    const bool is_forced =
        walk.options.variant.has_value() || walk.options.partition.has_value();
    if (plan.ok() && is_forced) ++endings[{plan->partition, plan->reduction}];
  }
  for (Reduction reduction :
       {Reduction::kSecondPass, Reduction::kCluster, Reduction::kLastCta}) {
    EXPECT_GT((endings[{Partition::kSplits, reduction}]), 20);
  }
  EXPECT_GT((endings[{Partition::kWhole, Reduction::kNone}]), 20);
  EXPECT_GT((endings[{Partition::kChunks, Reduction::kLastCta}]), 20);
}

}  // namespace
}  // namespace paged::testing
