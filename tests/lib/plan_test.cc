// What dispatch decides on real devices, and the properties of every decision.
#include "paged/plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/lib/shapes.h"

namespace paged {
namespace {

using testing::Batch;
using testing::ProblemOf;

DecodePlan Plan(const Batch& batch,
                const DeviceProfile& profile = H200Profile(),
                const DecodeOptions& options = {}) {
  return MakePlan(ProblemOf(batch), profile, options).value();
}

// sequences, kv heads, group, context
const std::vector<Batch> kBatches = {
    {0, 8, 4, 4096},   {1, 1, 1, 0},      {1, 1, 1, 1},     {1, 1, 8, 100},
    {1, 8, 4, 131072}, {1, 8, 4, 4096},   {1, 8, 4, 512},   {3, 2, 16, 777},
    {8, 4, 2, 128},    {8, 4, 2, 1024},   {8, 4, 2, 4096},  {16, 8, 4, 2048},
    {32, 32, 1, 1000}, {32, 1, 40, 4096}, {64, 8, 4, 4096}, {256, 8, 4, 1024},
};

TEST(PlanTest, SplitsWhenUnitsCannotFillTheDevice) {
  // 32 units on 132 SMs.
  const DecodePlan plan = Plan({8, 4, 2, 4096});
  EXPECT_EQ(plan.variant, Variant::kSplitK);
  EXPECT_GE(plan.num_splits, 2);
  EXPECT_LE(plan.num_splits, 8);
  EXPECT_EQ(plan.decided_by, DecidedBy::kCostModel);
}

TEST(PlanTest, DoesNotSplitWhenUnitsFillTheDevice) {
  EXPECT_EQ(Plan({64, 8, 4, 4096}).variant, Variant::kV1);
  EXPECT_EQ(Plan({256, 8, 4, 1024}).variant, Variant::kV1);
  EXPECT_EQ(Plan({32, 32, 1, 1000}).variant, Variant::kV1);
}

TEST(PlanTest, OneLongSequenceUsesAThirdOfTheSms) {
  const DecodePlan plan = Plan({1, 8, 4, 131072});
  EXPECT_EQ(plan.variant, Variant::kSplitK);
  EXPECT_GE(plan.num_ctas, 44);
}

TEST(PlanTest, AContextOfOneTileIsNeverSplit) {
  for (const DeviceProfile& profile :
       {H200Profile(), H100Profile(), Rtx3090Profile(), CpuProfile(8)}) {
    for (int num_seqs : {1, 2, 8, 64, 1024}) {
      for (int context_len : {0, 1, 16}) {
        EXPECT_EQ(Plan({num_seqs, 1, 1, context_len}, profile).variant,
                  Variant::kV1);
      }
    }
  }
}

TEST(PlanTest, CountsKvHeadsAndNotQHeads) {
  // As many q heads; with one kv head, an eighth of the programs.
  const DecodePlan grouped = Plan({8, 1, 8, 4096});
  const DecodePlan multi_head = Plan({8, 8, 1, 4096});
  EXPECT_GT(grouped.num_splits, multi_head.num_splits);
  EXPECT_EQ(grouped.num_ctas, int64_t{8} * grouped.num_splits);
  EXPECT_EQ(multi_head.num_ctas, int64_t{64} * multi_head.num_splits);
}

TEST(PlanTest, TheExpectedLengthDecidesAndTheCapacityBounds) {
  DecodeShape shape = testing::ShapeOf({1, 8, 4, 131072});
  shape.expected_context_len = 16;
  const DecodePlan plan =
      MakePlan(ValidateShape(shape).value(), H200Profile(), {}).value();
  EXPECT_EQ(plan.variant, Variant::kV1);
  EXPECT_EQ(plan.shape.max_context_len, 131072);
}

// More threads than sequences share out their tokens and pay for partials, or
// their heads and pay for smaller pieces.
TEST(PlanTest, MoreSmsNeverRaiseThePredictedTime) {
  for (const DeviceProfile& base :
       {H200Profile(), Rtx3090Profile(), CpuProfile(4)}) {
    const double most = base.kind == DeviceKind::kCpu ? 1.05 : 1 + 1e-12;
    for (const Batch& batch : kBatches) {
      DeviceProfile profile = base;
      double last_us = 1e300;
      for (int units = 1; units <= 264; ++units) {
        profile.num_units = units;
        const double us = Plan(batch, profile).predicted_us;
        ASSERT_LE(us, last_us * most)
            << profile.name << ", " << units << " units, context "
            << batch.context_len;
        last_us = us;
      }
    }
  }
}

TEST(PlanTest, EveryPlanAgreesWithItself) {  // BR-087
  for (const Batch& batch : kBatches) {
    DeviceProfile profile = H200Profile();
    for (int units = 1; units <= 256; ++units) {
      profile.num_units = units;
      const DecodePlan plan = Plan(batch, profile);
      ASSERT_EQ(plan.variant == Variant::kV1,
                plan.partition == Partition::kWhole);
      ASSERT_EQ(plan.variant == Variant::kV1,
                plan.reduction == Reduction::kNone);
      if (plan.variant == Variant::kV1) {
        ASSERT_EQ(plan.num_splits, 1);
        ASSERT_EQ(plan.workspace_bytes, 0u);
      } else {
        ASSERT_GT(plan.num_splits, 1);
        ASSERT_EQ(plan.workspace_bytes == 0,
                  plan.reduction == Reduction::kCluster);
      }
      ASSERT_EQ(plan.num_ctas, int64_t{batch.num_seqs} * batch.num_kv_heads *
                                   plan.num_row_tiles * plan.num_splits);
      ASSERT_LE(plan.control_bytes, plan.workspace_bytes);
      ASSERT_GE(plan.resident_ctas, 1);
      ASSERT_GT(plan.predicted_us, 0);
      ASSERT_LE(plan.rows_per_item, plan.instance.max_rows);
      ASSERT_GE(plan.rows_per_item * plan.num_row_tiles, batch.group);
    }
  }
}

TEST(PlanTest, NoForcedCountIsPredictedFaster) {
  for (const Batch& batch : kBatches) {
    const double chosen_us = Plan(batch).predicted_us;
    for (int splits : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
      if (batch.context_len < splits * 64) continue;
      EXPECT_LE(
          chosen_us,
          Plan(batch, H200Profile(), {.splits = splits}).predicted_us + 1e-9)
          << splits;
    }
  }
}

TEST(PlanTest, EqualInputsGiveEqualPlans) {
  for (const Batch& batch : kBatches) EXPECT_EQ(Plan(batch), Plan(batch));
}

TEST(PlanTest, ACpuSplitsOneHeadOverItsThreads) {
  const DecodePlan plan = Plan({1, 1, 1, 65536}, CpuProfile(4));
  EXPECT_EQ(plan.variant, Variant::kSplitK);
  EXPECT_EQ(plan.num_ctas, 4);
  EXPECT_EQ(plan.resident_ctas, 1);
  EXPECT_EQ(plan.instance, (Instance{DType::kF16, 128, 128, 0, 0}));
  EXPECT_EQ(Plan({1, 1, 1, 65536}, CpuProfile(1)).variant, Variant::kV1);
}

// Three heads deal 2 to 1 to two threads, their halves evenly.
TEST(PlanTest, ACpuSplitsWhatItsThreadsWouldShareUnevenly) {
  EXPECT_EQ(Plan({1, 3, 3, 511}, CpuProfile(2)).num_splits, 2);
  EXPECT_EQ(Plan({1, 4, 3, 511}, CpuProfile(2)).variant, Variant::kV1);
  EXPECT_EQ(Plan({1, 3, 3, 64}, CpuProfile(2)).variant, Variant::kV1);
}

TEST(PlanTest, ThreadsOfACpuShareOutTokensOfALongSequenceAndNotItsHeads) {
  EXPECT_EQ(Plan({1, 8, 1, 65536}, CpuProfile(2)).num_splits, 2);
  // What caches hold, a sequence for each thread, one head, and heads that are
  // apart in memory anyway.
  EXPECT_EQ(Plan({1, 8, 1, 4096}, CpuProfile(2)).variant, Variant::kV1);
  EXPECT_EQ(Plan({2, 8, 1, 65536}, CpuProfile(2)).variant, Variant::kV1);
  EXPECT_EQ(Plan({1, 8, 1, 65536}, CpuProfile(1)).variant, Variant::kV1);
  DecodeShape shape = testing::ShapeOf({1, 8, 1, 65536});
  shape.key = shape.value = {int64_t{16} * 8 * 128, 128, int64_t{16} * 128};
  EXPECT_EQ(
      MakePlan(ValidateShape(shape).value(), CpuProfile(2), {}).value().variant,
      Variant::kV1);
}

TEST(PlanTest, RowsAreDealtEvenlyToAsFewTilesAsHoldThem) {
  const struct {
    int group;
    int max_rows;
    int num_row_tiles;
    int rows_per_item;
  } cases[] = {{1, 16, 1, 1},   {16, 16, 1, 16}, {17, 16, 2, 9},
               {32, 16, 2, 16}, {40, 16, 3, 14}, {71, 16, 5, 15},
               {17, 32, 1, 17}, {32, 32, 1, 32}, {40, 32, 2, 20},
               {71, 32, 3, 24}};
  for (const auto& c : cases) {
    const DecodePlan plan =
        Plan({1, 2, c.group, 512}, H200Profile(),
             {.instance = InstanceChoice{.max_rows = c.max_rows}});
    EXPECT_EQ(plan.num_row_tiles, c.num_row_tiles) << c.group;
    EXPECT_EQ(plan.rows_per_item, c.rows_per_item) << c.group;
  }
}

TEST(PlanTest, WithoutHeadPackingEveryQHeadIsAProgram) {
  const DecodePlan plan =
      Plan({64, 8, 4, 4096}, H200Profile(),
           {.variant = Variant::kV1, .head_packing = HeadPacking::kOff});
  EXPECT_EQ(plan.num_row_tiles, 4);
  EXPECT_EQ(plan.rows_per_item, 1);
  EXPECT_EQ(plan.num_ctas, 64 * 32);
  // What has to be read at least does not change.
  EXPECT_EQ(plan.kv_bytes, Plan({64, 8, 4, 4096}).kv_bytes);
}

TEST(PlanTest, PrintsOnOneLine) {
  const DecodePlan plan{.variant = Variant::kSplitK,
                        .partition = Partition::kSplits,
                        .num_splits = 6,
                        .reduction = Reduction::kSecondPass,
                        .instance = {DType::kBF16, 64, 64, 8, 3, 16},
                        .num_ctas = 48,
                        .resident_ctas = 2,
                        .waves = 48.0 / 264,
                        .predicted_us = 20.75,
                        .decided_by = DecidedBy::kSplitsEnv,
                        .shape = {}};
  EXPECT_EQ(ToString(plan),
            "variant=split_k partition=splits splits=6 reduction=second_pass "
            "instance=bf16_d64_r16_w8s3 ctas=48 resident_ctas=2 waves=0.18 "
            "predicted_us=20.8 decided_by=PAGED_SPLITS");
}

TEST(PlanTest, InstancesHaveNames) {
  EXPECT_EQ(NameOf(Instance{DType::kF16, 128, 128, 4, 2, 16}),
            "fp16_d128_r16_w4s2");
  EXPECT_EQ(NameOf(Instance{DType::kBF16, 192, 128, 8, 2, 16}),
            "bf16_d192v128_r16_w8s2");
  EXPECT_EQ(NameOf(Instance{DType::kF16, 128, 128, 4, 2, 16, true}),
            "fp16_d128_general_r16_w4s2");
  EXPECT_EQ(NameOf(Instance{DType::kF32, 512, 512, 4, 1, 8, true, true}),
            "fp32_d512_cores_r8_w4s1");
  EXPECT_EQ(NameOf(Instance{DType::kF16, 64, 64, 8, 2, 32, true}),
            "fp16_d64_general_r32_w8s2");
  EXPECT_EQ(NameOf(Instance{DType::kF32, 80, 80, 0, 0}), "fp32_d80_cpu");
}

// An early grid takes what the one before it leaves: two of them must fit side
// by side.
TEST(PlanTest, OnlySmallGridsOfDevicesThatCanStartEarly) {
  const auto starts_early = [](const Batch& batch, const DeviceProfile& profile,
                               const DecodeOptions& options) {
    return MakePlan(ProblemOf(batch), profile, options)->starts_early;
  };
  const DeviceProfile& h200 = H200Profile();
  const DecodeOptions v1 = {.variant = Variant::kV1};
  EXPECT_TRUE(starts_early({8, 8, 4, 128}, h200, v1));
  EXPECT_TRUE(starts_early({66, 1, 4, 128}, h200, v1));
  EXPECT_FALSE(starts_early({67, 1, 4, 128}, h200, v1));
  EXPECT_FALSE(starts_early({8, 8, 4, 128}, Rtx3090Profile(), v1));
  EXPECT_FALSE(starts_early({8, 8, 4, 128}, CpuProfile(2), v1));
  DecodeOptions off = v1;
  off.early_start = false;
  EXPECT_FALSE(starts_early({8, 8, 4, 128}, h200, off));
  const auto cluster = [](int splits) {
    return DecodeOptions{.splits = splits, .reduction = Reduction::kCluster};
  };
  EXPECT_TRUE(starts_early({1, 8, 4, 4096}, h200, cluster(4)));
  EXPECT_FALSE(starts_early({1, 16, 4, 4096}, h200, cluster(4)));
  EXPECT_FALSE(starts_early({1, 8, 4, 4096}, h200, cluster(8)));
}

}  // namespace
}  // namespace paged
