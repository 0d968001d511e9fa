#include "paged/internal/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/lib/shapes.h"

namespace paged::internal {
namespace {

using paged::testing::Batch;
using paged::testing::ProblemOf;

InstanceConfig ConfigOf(int head_dim, InstanceShape shape, int registers) {
  return {ElementKind::kF16, head_dim, shape, registers};
}

// The limits of an SM that the arithmetic below is about.
DeviceProfile RoundProfile() {
  DeviceProfile profile = H200Profile();
  profile.max_threads_per_unit = 2048;
  profile.max_ctas_per_unit = 32;
  profile.registers_per_unit = 65536;
  profile.shared_bytes_per_unit = 228 * 1024;
  profile.shared_bytes_per_cta = 227 * 1024;
  profile.reserved_shared_per_cta = 1024;
  return profile;
}

TEST(ResidentCtasTest, SharedMemoryCountsTheSystemsShare) {
  // 64 KB and 1 KB of the system's: 3 in 228 KB.
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 64), RoundProfile()), 3);
  // Exactly 3 * 65 KB, and one byte less.
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_unit = 3 * 65 * 1024;
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 64), profile), 3);
  profile.shared_bytes_per_unit -= 1;
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 64), profile), 2);
}

TEST(ResidentCtasTest, NoneFitsBeyondTheLimitPerCta) {
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_cta = 64 * 1024;
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 64), profile), 3);
  profile.shared_bytes_per_cta -= 1;
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 64), profile), 0);
}

TEST(ResidentCtasTest, RegistersAreAllottedInUnitsOfEight) {
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_unit = int64_t{1} << 30;
  // 65536 / (128 * 128) and 65536 / (136 * 128).
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 128), profile), 4);
  EXPECT_EQ(ResidentCtas(ConfigOf(128, {4, 2}, 129), profile), 3);
}

TEST(ResidentCtasTest, ThreadsAndSlotsLimit) {
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_unit = int64_t{1} << 30;
  profile.max_threads_per_unit = 300;
  EXPECT_EQ(ResidentCtas(ConfigOf(64, {4, 2}, 32), profile), 2);
  profile.max_threads_per_unit = 2048;
  profile.max_ctas_per_unit = 5;
  EXPECT_EQ(ResidentCtas(ConfigOf(64, {4, 2}, 32), profile), 5);
}

TEST(KvBytesTest, CountsKeysAndValuesOncePerKvHead) {
  // 2 sequences x 100 tokens x 4 kv heads x (128 + 128) x 2 bytes.
  const DecodeProblem problem = ProblemOf({2, 4, 8, 100});
  EXPECT_EQ(KvBytes(problem.shape()), 2 * 100 * 4 * 256 * 2);
}

DecodePlan V1Plan(const Batch& batch, const DeviceProfile& profile) {
  return MakePlan(ProblemOf(batch), profile,
                  {.variant = Variant::kV1, .instance = InstanceChoice{4, 2}})
      .value();
}

TEST(PredictUsTest, AFullDeviceIsBoundByItsBandwidth) {
  // 64 x 4096 tokens x 8 heads x 512 bytes = 1.07 GB at 4480 GB/s.
  const DecodePlan plan = V1Plan({64, 8, 4, 4096}, H200Profile());
  EXPECT_NEAR(plan.predicted_us, 3.3 + 1073741824 / 4.48e6, 0.1);
}

TEST(PredictUsTest, AnEmptyDeviceIsBoundByItsBusiestSm) {
  // One CTA reads 4096 tokens of 512 bytes, with 64 KB of 192 in flight.
  const DecodePlan plan = V1Plan({1, 1, 1, 4096}, H200Profile());
  const double knee = 48 * std::pow(3.0, 0.75);
  EXPECT_NEAR(plan.predicted_us, 3.3 + 4096 * 512 * knee / 4.48e6, 0.1);
}

TEST(PredictUsTest, EmptyWorkCostsTheLaunch) {
  EXPECT_DOUBLE_EQ(V1Plan({0, 8, 4, 4096}, H200Profile()).predicted_us,
                   V1Plan({8, 8, 4, 0}, H200Profile()).predicted_us);
}

TEST(PredictUsTest, ASecondPassPaysForItsSplits) {
  const DecodeProblem problem = ProblemOf({64, 8, 4, 4096});
  const auto predict = [&](int splits) {
    return MakePlan(problem, H200Profile(),
                    {.variant = Variant::kSplitK, .splits = splits})
        ->predicted_us;
  };
  EXPECT_LT(predict(2), predict(4));
  EXPECT_LT(predict(4), predict(8));
}

}  // namespace
}  // namespace paged::internal
