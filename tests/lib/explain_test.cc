#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "paged/plan.h"
#include "tests/lib/shapes.h"

namespace paged {
namespace {

using testing::Batch;
using testing::ProblemOf;
using testing::ShapeOf;

TEST(ExplainTest, ChoosesWhatMakePlanChooses) {
  for (const DeviceProfile& profile :
       {H200Profile(), H100Profile(), Rtx3090Profile(), CpuProfile(2)}) {
    for (const Batch& batch : {Batch{1, 8, 4, 131072}, Batch{8, 4, 2, 1024},
                               Batch{64, 8, 4, 4096}, Batch{1, 1, 1, 1}}) {
      for (const DecodeOptions& options :
           {DecodeOptions{}, DecodeOptions{.splits = 3},
            DecodeOptions{.variant = Variant::kV1},
            DecodeOptions{.variant = Variant::kThrust}}) {
        const DecodeProblem problem = ProblemOf(batch);
        const Explanation explanation =
            Explain(problem, profile, options).value();
        EXPECT_EQ(explanation.chosen,
                  MakePlan(problem, profile, options).value());
      }
    }
  }
}

TEST(ExplainTest, ExactlyTheChosenCandidateHasNoReason) {
  const Explanation explanation =
      Explain(ProblemOf({8, 4, 2, 4096}), H200Profile(), {}).value();
  int num_chosen = 0;
  for (const Candidate& candidate : explanation.candidates) {
    if (!candidate.rejected_because.empty()) continue;
    ++num_chosen;
    EXPECT_EQ(candidate.plan, explanation.chosen);
  }
  EXPECT_EQ(num_chosen, 1);
}

// MakePlan passes over what is certain to be slower; Explain prices it all.
TEST(ExplainTest, NothingThatMakePlanPassesOverIsFaster) {
  std::mt19937 random(5);
  const auto up_to = [&](int most) {
    const double u = static_cast<double>(random()) / 4294967296.0;
    return static_cast<int>(std::pow(most + 1.0, u));
  };
  int num_candidates = 0;
  for (int i = 0; i < 500; ++i) {
    DecodeShape shape = ShapeOf({up_to(512), up_to(32), up_to(40),
                                 up_to(131072), i % 3 == 0 ? 64 : 128});
    shape.expected_context_len = up_to(shape.max_context_len);
    if (i % 2 == 0) shape.lengths = LengthSpread::kRagged;
    if (i % 5 == 0) shape.window = up_to(4096);
    const DeviceProfile& profile =
        i % 4 == 0 ? Rtx3090Profile() : H200Profile();
    const Explanation explanation =
        Explain(ValidateShape(shape).value(), profile, {}).value();
    const DecodePlan& chosen = explanation.chosen;
    for (const Candidate& candidate : explanation.candidates) {
      if (candidate.plan.predicted_us == 0) continue;  // it cannot run
      ++num_candidates;
      EXPECT_LE(chosen.predicted_us, candidate.plan.predicted_us + 1e-9)
          << ToString(chosen) << "\n"
          << ToString(candidate.plan);
    }
  }
  EXPECT_GT(num_candidates, 10000);
}

TEST(ExplainTest, ComparesV1WithSeveralSplitCounts) {
  const Explanation explanation =
      Explain(ProblemOf({8, 4, 2, 4096}), H200Profile(), {}).value();
  const auto has = [&](Variant variant, int splits) {
    return std::any_of(explanation.candidates.begin(),
                       explanation.candidates.end(), [&](const Candidate& c) {
                         return c.plan.variant == variant &&
                                c.plan.num_splits == splits;
                       });
  };
  EXPECT_TRUE(has(Variant::kV1, 1));
  EXPECT_TRUE(has(Variant::kSplitK, 2));
  // 256 tiles: 64 splits of 4 and no more.
  EXPECT_TRUE(has(Variant::kSplitK, 64));
  EXPECT_FALSE(has(Variant::kSplitK, 96));
}

TEST(ExplainTest, SaysWhatDoesNotFitAndByHowMuch) {
  const Explanation explanation =
      Explain(ProblemOf({8, 4, 2, 1024}), Rtx3090Profile(), {}).value();
  bool found = false;
  for (const Candidate& candidate : explanation.candidates) {
    if (candidate.plan.instance != Instance{DType::kF16, 128, 128, 8, 2, 8})
      continue;
    found = true;
    EXPECT_EQ(candidate.rejected_because,
              "needs 133120 bytes of shared memory per CTA; the device has "
              "101376");
  }
  EXPECT_TRUE(found);
}

TEST(ExplainTest, SaysHowMuchSlowerTheOthersAre) {
  const Explanation explanation =
      Explain(ProblemOf({1, 8, 4, 131072}), H200Profile(), {}).value();
  const Candidate& v1 = explanation.candidates.front();
  EXPECT_EQ(v1.plan.variant, Variant::kV1);
  EXPECT_NE(v1.rejected_because.find("x the choice"), std::string::npos)
      << v1.rejected_because;
}

TEST(ExplainTest, FailsAsMakePlanDoes) {
  const DecodeProblem problem = ProblemOf({1, 1, 1, 16, 80});
  EXPECT_EQ(Explain(problem, H200Profile(), {}).status(),
            MakePlan(problem, H200Profile(), {}).status());
}

}  // namespace
}  // namespace paged
