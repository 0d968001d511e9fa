// What options force, what a device refuses, and with which words.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "paged/internal/device_rules.h"
#include "paged/internal/lower.h"
#include "paged/plan.h"
#include "tests/lib/shapes.h"

namespace paged {
namespace {

using testing::Batch;
using testing::ErrorOf;
using testing::ProblemOf;
using testing::ShapeOf;

constexpr Batch kBatch = {8, 4, 2, 1024};

DecodePlan Plan(const DecodeOptions& options,
                const DeviceProfile& profile = H200Profile()) {
  return MakePlan(ProblemOf(kBatch), profile, options).value();
}

TEST(PlanRulesTest, ForcedCountsAreKept) {
  for (int splits : {2, 5, 100, 1024}) {
    EXPECT_EQ(Plan({.splits = splits}).num_splits, splits);
    EXPECT_EQ(Plan({.splits = splits}).variant, Variant::kSplitK);
  }
  EXPECT_EQ(Plan({.splits = 1}).variant, Variant::kV1);
  const DecodePlan one = Plan({.variant = Variant::kSplitK, .splits = 1});
  EXPECT_EQ(one.variant, Variant::kSplitK);
  EXPECT_EQ(one.num_splits, 1);
  EXPECT_NE(one.reduction, Reduction::kNone);
}

TEST(PlanRulesTest, ForcedSplitsAreLegalWithoutAnyContext) {
  const DecodeProblem problem = ProblemOf({2, 4, 2, 0});
  const DecodePlan plan =
      MakePlan(problem, H200Profile(), {.splits = 7}).value();
  EXPECT_EQ(plan.num_splits, 7);
  EXPECT_TRUE(
      MakePlan(problem, H200Profile(), {.variant = Variant::kSplitK}).ok());
}

TEST(PlanRulesTest, NamesWhoDecided) {
  const OptionSource kEnv = OptionSource::kEnvironment;
  const auto decider = [](const DecodeOptions& options) {
    return NameOf(Plan(options).decided_by);
  };
  EXPECT_EQ(decider({}), "cost_model");
  EXPECT_EQ(decider({.variant = Variant::kAuto, .splits = 0}), "cost_model");
  EXPECT_EQ(decider({.variant = Variant::kV1}), "--variant");
  EXPECT_EQ(decider({.splits = 4}), "--splits");
  EXPECT_EQ(decider({.variant = Variant::kV1, .variant_source = kEnv}),
            "PAGED_VARIANT");
  EXPECT_EQ(decider({.splits = 4, .splits_source = kEnv}), "PAGED_SPLITS");
  EXPECT_EQ(
      decider(
          {.variant = Variant::kSplitK, .splits = 4, .splits_source = kEnv}),
      "--variant");
}

TEST(PlanRulesTest, WorkspaceHoldsEveryPartialOnce) {
  // 8 sequences x 4 heads x 2 rows x 5 splits of 8 bytes and 128 floats; the
  // states end on a multiple of 256.
  const DecodePlan plan =
      Plan({.splits = 5, .reduction = Reduction::kSecondPass});
  EXPECT_EQ(plan.control_bytes, internal::kControlBytes);
  EXPECT_EQ(plan.workspace_bytes,
            internal::kControlBytes + 320u * 8 + 320u * 128 * 4);
}

TEST(PlanRulesTest, UnresolvedConflictsAreRefused) {
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), H200Profile(),
                    {.variant = Variant::kV1, .splits = 2})
                .message(),
            "splits must be 0 or 1 with variant v1; got 2");
}

TEST(PlanRulesTest, BaselinesHaveNoInstanceAndNoPrediction) {
  const DecodePlan reference =
      Plan({.variant = Variant::kReference}, CpuProfile(2));
  EXPECT_EQ(reference.variant, Variant::kReference);
  EXPECT_EQ(reference.workspace_bytes, 0u);
  EXPECT_EQ(NameOf(reference.instance), "none");
  const DecodePlan thrust = Plan({.variant = Variant::kThrust});
  EXPECT_EQ(thrust.predicted_us, 0);
  // It gathers all of the cache.
  EXPECT_GE(thrust.workspace_bytes, static_cast<std::size_t>(thrust.kv_bytes));
}

TEST(PlanRulesTest, TheReferenceIsRefusedOnAGpu) {
  const absl::Status status =
      ErrorOf(ShapeOf(kBatch), H200Profile(), {.variant = Variant::kReference});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "variant reference runs on the CPU only; got device NVIDIA H200");
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), H200Profile(),
                    {.variant = Variant::kReference,
                     .variant_source = OptionSource::kEnvironment})
                .message(),
            "PAGED_VARIANT=reference runs on the CPU only; got device NVIDIA "
            "H200");
}

TEST(PlanRulesTest, WhatIsNotCompiledIsToldWhatIs) {
  Batch batch = kBatch;
  batch.head_dim = 84;
  absl::Status status = ErrorOf(ShapeOf(batch), H200Profile());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "head_dim must be a multiple of 8 on CUDA; got 84");
  batch.head_dim = 520;
  status = ErrorOf(ShapeOf(batch), H200Profile());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(),
            "head_dim and value_dim must be at most 512 on CUDA; got 520 and "
            "520");
  EXPECT_TRUE(MakePlan(ProblemOf(batch), CpuProfile(2), {}).ok());
}

TEST(PlanRulesTest, AForcedReductionIsTakenOrRefused) {
  for (Reduction reduction :
       {Reduction::kSecondPass, Reduction::kCluster, Reduction::kLastCta}) {
    EXPECT_EQ(Plan({.splits = 8, .reduction = reduction}).reduction, reduction);
  }
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), Rtx3090Profile(),
                    {.splits = 2, .reduction = Reduction::kCluster})
                .message(),
            "reduction cluster needs a GPU of compute capability 9.0 and up; "
            "got device NVIDIA GeForce RTX 3090");
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), CpuProfile(2),
                    {.reduction = Reduction::kLastCta,
                     .reduction_source = OptionSource::kEnvironment})
                .message(),
            "PAGED_REDUCTION=last_cta needs a GPU; got device CPU, 2 threads");
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), H200Profile(),
                    {.splits = 9, .reduction = Reduction::kCluster})
                .message(),
            "splits must be at most 8 with reduction cluster; got 9");
}

TEST(PlanRulesTest, ChunksEndInOneReductionOfEachDevice) {
  DecodeOptions options = {.reduction = Reduction::kSecondPass,
                           .partition = Partition::kChunks};
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), H200Profile(), options).message(),
            "reduction must be auto or last_cta with partition chunks on "
            "NVIDIA H200; got second_pass");
  options.reduction_source = OptionSource::kEnvironment;
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), H200Profile(), options).message(),
            "PAGED_REDUCTION must be auto or last_cta with partition chunks on "
            "NVIDIA H200; got second_pass");
  EXPECT_EQ(Plan(options, CpuProfile(2)).partition, Partition::kChunks);
  options.reduction = Reduction::kLastCta;
  EXPECT_EQ(Plan(options).partition, Partition::kChunks);
}

TEST(PlanRulesTest, AClusterNeedsNoWorkspaceAndTheOthersTheSame) {
  const auto plan = [](Reduction reduction) {
    return Plan({.splits = 4, .reduction = reduction});
  };
  EXPECT_EQ(plan(Reduction::kCluster).workspace_bytes, 0u);
  EXPECT_GT(plan(Reduction::kSecondPass).workspace_bytes, 0u);
  EXPECT_EQ(plan(Reduction::kLastCta).workspace_bytes,
            plan(Reduction::kSecondPass).workspace_bytes);
}

TEST(PlanRulesTest, TheLastCtaCountsUpToItsControlArea) {
  const auto plan = [](int num_seqs, const DecodeOptions& options) {
    return MakePlan(ProblemOf({num_seqs, 4, 2, 64}), H200Profile(), options);
  };
  const DecodeOptions last_cta{.splits = 2, .reduction = Reduction::kLastCta};
  EXPECT_TRUE(plan(4096, last_cta).ok());
  EXPECT_EQ(plan(4097, last_cta).status().message(),
            "no plan can run on NVIDIA H200: reduction last_cta counts at most "
            "16384 sequences x kv heads x row tiles; got 16388");
  EXPECT_TRUE(plan(4097, {.splits = 2}).ok());
}

TEST(PlanRulesTest, ClustersAreLeftAloneWhereTheyWouldWaitForOneAnother) {
  // 64 sequences x 8 kv heads x 2 splits are more than half of any H200.
  const DecodeProblem problem = ProblemOf({64, 8, 4, 4096});
  const Explanation explanation =
      Explain(problem, H200Profile(), {.splits = 2}).value();
  EXPECT_NE(explanation.chosen.reduction, Reduction::kCluster);
  EXPECT_EQ(MakePlan(problem, H200Profile(),
                     {.splits = 2, .reduction = Reduction::kCluster})
                ->reduction,
            Reduction::kCluster);
}

// BR-046.
TEST(PlanRulesTest, CudaWantsStridesOf16Bytes) {
  DecodeShape shape = ShapeOf(kBatch);
  shape.value = {16 * 4 * 132, 4 * 132, 132};
  const absl::Status status = ErrorOf(shape, H200Profile());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "value.head_stride must be a multiple of 16 bytes on CUDA; got 132 "
            "elements of 2 bytes");
  EXPECT_TRUE(ErrorOf(shape, CpuProfile(2)).ok());
  shape = ShapeOf(kBatch);
  shape.query = shape.output = {8 * 128, 8 * 128, 128};
  shape.output.seq_stride += 4;
  EXPECT_EQ(ErrorOf(shape, H200Profile()).message(),
            "output.seq_stride must be a multiple of 16 bytes on CUDA; got "
            "1028 elements of 2 bytes");
}

TEST(PlanRulesTest, GridsBeyondALaunchAreRefused) {
  DecodeShape shape = ShapeOf(
      {.num_seqs = 1 << 20, .num_kv_heads = 8, .group = 1, .context_len = 16});
  shape.num_blocks = 1;
  EXPECT_TRUE(ErrorOf(shape, H200Profile()).ok());
  const absl::Status status = ErrorOf(shape, H200Profile(), {.splits = 1024});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("must be at most 2147483647; got 1048576 * 8 "
                                  "* 1 * 1024"),
            absl::string_view::npos)
      << status;
}

TEST(PlanRulesTest, OldGpusAreRefused) {
  DeviceProfile profile = H200Profile();
  profile.compute_capability = 75;
  EXPECT_EQ(ErrorOf(ShapeOf(kBatch), profile).code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace paged
