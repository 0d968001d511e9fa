// PAGED_VERBOSE=dispatch, the only thing that the library prints.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "paged/decode.h"
#include "tests/lib/shapes.h"

namespace paged {
namespace {

using testing::ShapeOf;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

TEST(VerboseTest, PrintsEachDistinctDecisionOnce) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 2});
  const DecodeOptions silent{.variant = Variant::kSplitK, .splits = 11};
  CaptureStderr();
  ASSERT_TRUE(PlanDecode(ShapeOf({1, 1, 1, 5000}), *backend, silent).ok());
  EXPECT_EQ(GetCapturedStderr(), "");

  ASSERT_EQ(setenv("PAGED_VERBOSE", "dispatch", 1), 0);
  CaptureStderr();
  const DecodePlan plan =
      PlanDecode(ShapeOf({1, 1, 1, 5000}), *backend, silent).value();
  EXPECT_TRUE(PlanDecode(ShapeOf({1, 1, 1, 5000}), *backend, silent).ok());
  const std::string once = GetCapturedStderr();
  CaptureStderr();
  EXPECT_TRUE(
      PlanDecode(ShapeOf({1, 1, 1, 5000}), *backend, {.variant = Variant::kV1})
          .ok());
  const std::string other = GetCapturedStderr();
  ASSERT_EQ(unsetenv("PAGED_VERBOSE"), 0);
  EXPECT_EQ(once, "paged: " + ToString(plan) + "\n");
  EXPECT_NE(other.find("variant=v1"), std::string::npos) << other;
}

TEST(VerboseTest, AWrongWordIsAnErrorOfEveryPlan) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 1});
  ASSERT_EQ(setenv("PAGED_VERBOSE", "all", 1), 0);
  const absl::Status status =
      PlanDecode(ShapeOf({1, 1, 1, 16}), *backend).status();
  ASSERT_EQ(unsetenv("PAGED_VERBOSE"), 0);
  EXPECT_EQ(status.message(), "PAGED_VERBOSE must be dispatch; got all");
}

}  // namespace
}  // namespace paged
