#include "kernels/baseline/thrust_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/baseline/thrust_workspace.h"
#include "kernels/cpu/decode_kernels.h"
#include "tests/baseline/thrust_problem.h"

namespace paged::testing {
namespace {

// The arrays without the scratch, which the host needs none of.
std::size_t ArrayBytes(const ThrustCase& c, const DecodeParams& params) {
  const internal::ThrustSizes sizes =
      internal::ThrustSizesOf(c.element, params);
  return internal::AlignedBytes(sizes.key_bytes) +
         internal::AlignedBytes(sizes.value_bytes) +
         internal::AlignedBytes(sizes.score_bytes) +
         2 * internal::AlignedBytes(sizes.row_bytes);
}

class ThrustDecodeTest : public ::testing::TestWithParam<ThrustCase> {
 protected:
  void SetUp() override {
    if (!HasThrustOnHost()) GTEST_SKIP() << "built without Thrust's headers";
  }
};

TEST_P(ThrustDecodeTest, EqualsTheReferenceAndReadsNoPoison) {
  ThrustProblem thrust(GetParam());
  ThrustProblem reference(GetParam());
  const ElementKind element = GetParam().element;
  RunReference({element, element}, reference.HostParams());

  const DecodeParams params = thrust.HostParams();
  std::vector<char> workspace(ThrustWorkspaceBytes(element, params));
  ASSERT_EQ(
      RunThrustOnHost(element, params, workspace.data(), workspace.size()),
      ThrustStatus::kOk);
  EXPECT_LE(LargestDifference(thrust, reference), ToleranceOf(element));
}

TEST_P(ThrustDecodeTest, StaysInsideTheWorkspaceThatItAskedFor) {
  ThrustProblem problem(GetParam());
  const ElementKind element = GetParam().element;
  const DecodeParams params = problem.HostParams();
  const std::size_t bytes = ArrayBytes(GetParam(), params);
  ASSERT_LE(bytes, ThrustWorkspaceBytes(element, params));

  constexpr std::size_t kGuardBytes = 64;
  std::vector<char> workspace(bytes + kGuardBytes, char{0x5a});
  ASSERT_EQ(RunThrustOnHost(element, params, workspace.data(), bytes),
            ThrustStatus::kOk);
  for (std::size_t i = bytes; i < workspace.size(); ++i) {
    ASSERT_EQ(workspace[i], 0x5a) << "byte " << i - bytes << " past the end";
  }
}

TEST_P(ThrustDecodeTest, RefusesAWorkspaceThatIsAByteTooSmall) {
  ThrustProblem problem(GetParam());
  const ElementKind element = GetParam().element;
  const DecodeParams params = problem.HostParams();
  const std::size_t bytes = ArrayBytes(GetParam(), params) - 1;
  std::vector<char> workspace(bytes);
  EXPECT_EQ(RunThrustOnHost(element, params, workspace.data(), bytes),
            ThrustStatus::kWorkspaceTooSmall);
  EXPECT_EQ(RunThrustOnHost(element, params, nullptr, 0),
            ThrustStatus::kWorkspaceTooSmall);
}

INSTANTIATE_TEST_SUITE_P(Cpu, ThrustDecodeTest,
                         ::testing::ValuesIn(ThrustCases()),
                         [](const auto& info) { return info.param.name; });

class ThrustDecodeCpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasThrustOnHost()) GTEST_SKIP() << "built without Thrust's headers";
  }

  static ThrustStatus Run(ThrustProblem& problem, const DecodeParams& params) {
    std::vector<char> workspace(
        ThrustWorkspaceBytes(problem.c.element, params));
    return RunThrustOnHost(problem.c.element, params, workspace.data(),
                           workspace.size());
  }
};

TEST_F(ThrustDecodeCpuTest, AnEmptySequenceGivesZerosAndMinusInfinity) {
  ThrustProblem problem({.name = "", .context_lens = {5, 0}, .group = 2});
  ASSERT_EQ(Run(problem, problem.HostParams()), ThrustStatus::kOk);
  for (int head = 0; head < 2; ++head) {
    for (int d = 0; d < 8; ++d) EXPECT_EQ(problem.Output(1, head, d), 0.0f);
    EXPECT_EQ(problem.lse[2 + static_cast<size_t>(head)],
              -std::numeric_limits<float>::infinity());
  }
}

TEST_F(ThrustDecodeCpuTest, NanInALiveKeyReachesItsSequenceAlone) {
  ThrustProblem problem({.name = "", .context_lens = {5, 6}, .group = 2});
  // Dimension 0 of the key of token 0 of sequence 1.
  const int64_t slot_elements = 2 * 8;
  const int64_t block = problem.tables[static_cast<size_t>(problem.max_blocks)];
  auto* pool = reinterpret_cast<float*>(problem.pool.data());
  pool[block * 4 * slot_elements] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_EQ(Run(problem, problem.HostParams()), ThrustStatus::kOk);
  for (int head = 0; head < 2; ++head) {
    EXPECT_FALSE(std::isnan(problem.Output(0, head, 3)));
    EXPECT_TRUE(std::isnan(problem.Output(1, head, 3)));
    EXPECT_TRUE(std::isnan(problem.lse[2 + static_cast<size_t>(head)]));
  }
}

TEST_F(ThrustDecodeCpuTest, WritesNoLseWhereNoneIsWanted) {
  ThrustProblem problem({.name = "", .context_lens = {5}});
  DecodeParams params = problem.HostParams();
  params.lse = nullptr;
  ASSERT_EQ(Run(problem, params), ThrustStatus::kOk);
  EXPECT_TRUE(std::isnan(problem.lse[0]));
  EXPECT_FALSE(std::isnan(problem.Output(0, 0, 0)));
}

TEST_F(ThrustDecodeCpuTest, NoSequencesNeedNothing) {
  EXPECT_EQ(RunThrustOnHost(ElementKind::kF16, DecodeParams{}, nullptr, 0),
            ThrustStatus::kOk);
}

TEST(ThrustWorkspaceTest, GrowsWithTheCapacityAndNotWithTheLengths) {
  ThrustProblem problem({.name = "", .context_lens = {1, 1}});
  DecodeParams params = problem.HostParams();
  const std::size_t bytes = ThrustWorkspaceBytes(ElementKind::kF32, params);
  params.context_lens = nullptr;
  EXPECT_EQ(ThrustWorkspaceBytes(ElementKind::kF32, params), bytes);
  params.max_context_len *= 2;
  EXPECT_GT(ThrustWorkspaceBytes(ElementKind::kF32, params), bytes);
}

}  // namespace
}  // namespace paged::testing
