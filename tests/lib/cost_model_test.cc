#include "paged/internal/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/lib/shapes.h"

namespace paged::internal {
namespace {

using paged::testing::Batch;
using paged::testing::ProblemOf;

// Of a plain instance of fp16.
int ResidentOf(int head_dim, InstanceShape shape, int registers,
               const DeviceProfile& profile) {
  return ResidentCtas({ElementKind::kF16, InstanceKind::kPlain, kMmaRows,
                       head_dim, head_dim, shape},
                      registers, profile);
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
  // 64 KB of rings, 4 KB of query and 1 KB of the system's: 3 in 228 KB.
  EXPECT_EQ(ResidentOf(128, {4, 2}, 64, RoundProfile()), 3);
  // Exactly 3 * 69 KB, and one byte less.
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_unit = 3 * 69 * 1024;
  EXPECT_EQ(ResidentOf(128, {4, 2}, 64, profile), 3);
  profile.shared_bytes_per_unit -= 1;
  EXPECT_EQ(ResidentOf(128, {4, 2}, 64, profile), 2);
}

TEST(ResidentCtasTest, NoneFitsBeyondTheLimitPerCta) {
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_cta = 68 * 1024;
  EXPECT_EQ(ResidentOf(128, {4, 2}, 64, profile), 3);
  profile.shared_bytes_per_cta -= 1;
  EXPECT_EQ(ResidentOf(128, {4, 2}, 64, profile), 0);
}

TEST(ResidentCtasTest, RegistersAreAllottedInUnitsOfEight) {
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_unit = int64_t{1} << 30;
  // 65536 / (128 * 128) and 65536 / (136 * 128).
  EXPECT_EQ(ResidentOf(128, {4, 2}, 128, profile), 4);
  EXPECT_EQ(ResidentOf(128, {4, 2}, 129, profile), 3);
}

TEST(ResidentCtasTest, ThreadsAndSlotsLimit) {
  DeviceProfile profile = RoundProfile();
  profile.shared_bytes_per_unit = int64_t{1} << 30;
  profile.max_threads_per_unit = 300;
  EXPECT_EQ(ResidentOf(64, {4, 2}, 32, profile), 2);
  profile.max_threads_per_unit = 2048;
  profile.max_ctas_per_unit = 5;
  EXPECT_EQ(ResidentOf(64, {4, 2}, 32, profile), 5);
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
  // 64 x 4096 tokens x 8 heads x 512 bytes = 1.07 GB; the corner is far.
  const DeviceProfile& h200 = H200Profile();
  const DecodePlan plan = V1Plan({64, 8, 4, 4096}, h200);
  const double memory_us = 1073741824 / (h200.bandwidth_gb_per_s * 1e3);
  EXPECT_GT(plan.predicted_us, h200.v1_fixed_us + memory_us);
  EXPECT_LT(plan.predicted_us, h200.v1_fixed_us + 1.10 * memory_us);
}

TEST(PredictUsTest, AnEmptyDeviceIsBoundByItsBusiestSm) {
  // One CTA reads 4096 tokens of 512 bytes, with 4 of the knee's 8 warps.
  const DeviceProfile& h200 = H200Profile();
  const DecodePlan plan = V1Plan({1, 1, 1, 4096}, h200);
  const double knee = h200.knee_units * std::pow(2.0, h200.knee_exponent);
  EXPECT_NEAR(plan.predicted_us,
              h200.v1_fixed_us + h200.us_per_row - h200.early_start_us +
                  4096 * 512 * knee / (h200.bandwidth_gb_per_s * 1e3),
              0.01);
}

// A second pricer knows nothing yet; the same knows the gather already.
TEST(PlanPricerTest, WhatIsCheapIsAtMostThePrediction) {
  for (const Batch& batch : {Batch{1, 8, 4, 1024}, Batch{64, 8, 4, 4096},
                             Batch{7, 3, 5, 33000}, Batch{300, 2, 20, 777}}) {
    for (LengthSpread lengths :
         {LengthSpread::kUniform, LengthSpread::kRagged}) {
      DecodeShape shape = testing::ShapeOf(batch);
      shape.lengths = lengths;
      const Explanation explanation =
          Explain(ValidateShape(shape).value(), H200Profile(), {}).value();
      for (const Candidate& candidate : explanation.candidates) {
        const DecodePlan& plan = candidate.plan;
        if (plan.predicted_us == 0) continue;
        PlanPricer pricer(H200Profile());
        const Choice choice = {plan.partition, plan.num_splits, plan.reduction};
        const double floor_us = pricer.FloorUs(plan, choice);
        const double least_us = pricer.LeastUs(plan);
        EXPECT_LE(floor_us, pricer.FloorUs(plan, choice));
        EXPECT_LE(pricer.FloorUs(plan, choice), least_us);
        EXPECT_LE(least_us, pricer.PredictUs(plan));
        EXPECT_EQ(pricer.PredictUs(plan), plan.predicted_us);
        EXPECT_GT(floor_us, 0);
      }
    }
  }
}

// Where both limits are equal, a corner of exponent 3 costs 2^(1/3).
TEST(PredictUsTest, TheCornerIsRoundedAsTheProfileSays) {
  DeviceProfile profile = H200Profile();
  profile.num_units = 1;
  profile.knee_units = 1;
  profile.knee_bytes = 1;
  profile.v1_fixed_us = 0;
  profile.us_per_row = 0;
  profile.us_per_wave = 0;
  profile.early_start_us = 0;
  profile.corner_exponent = 0;
  const double sharp = V1Plan({1, 1, 1, 4096}, profile).predicted_us;
  profile.corner_exponent = 3;
  const double rounded = V1Plan({1, 1, 1, 4096}, profile).predicted_us;
  EXPECT_NEAR(rounded, sharp * std::cbrt(2.0), 1e-9);
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

// A token of fp8 costs the arithmetic of one of fp16: on 64 of 132 SMs, half of
// the bytes would take as long as all.
TEST(PredictUsTest, BytesWantAsManyUnitsAsTokensDo) {
  DecodeShape shape = testing::ShapeOf({1, 8, 4, 131072});
  const auto ctas = [&] {
    return MakePlan(ValidateShape(shape).value(), H200Profile(), {})->num_ctas;
  };
  const int64_t of_fp16 = ctas();
  shape.kv_dtype = DType::kFp8E4M3;
  EXPECT_EQ(ctas(), of_fp16);
}

}  // namespace
}  // namespace paged::internal
