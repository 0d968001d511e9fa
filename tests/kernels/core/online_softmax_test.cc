// The laws of a monoid, and of pushing as merging with one token. BR-011, 012,
// 016, 018, 019, 022.
#include "kernels/core/online_softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace paged {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// The state of a single token.
SoftmaxState One(float score) { return Push({}, score).state; }

std::vector<SoftmaxState> SomeStates() {
  std::vector<SoftmaxState> states = {{},         One(0.0f),   One(-3e38f),
                                      One(3e38f), One(1e-30f), {1.0f, 4096.0f}};
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    states.push_back({static_cast<float>(random() % 2000) - 1000.0f,
                      1.0f + static_cast<float>(random() % 100'000) / 7.0f});
  }
  return states;
}

void ExpectSameBits(SoftmaxState a, SoftmaxState b) {
  EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0)
      << "(" << a.max_log2 << ", " << a.sum << ") and (" << b.max_log2 << ", "
      << b.sum << ")";
}

void ExpectNear(SoftmaxState a, SoftmaxState b) {
  EXPECT_EQ(a.max_log2, b.max_log2);
  EXPECT_NEAR(a.sum, b.sum, 1e-6f * std::fabs(b.sum));
}

TEST(OnlineSoftmaxTest, TheEmptyStateIsTheIdentityToTheBit) {
  for (const SoftmaxState s : SomeStates()) {
    ExpectSameBits(Merge(s, {}), s);
    ExpectSameBits(Merge({}, s), s);
  }
}

TEST(OnlineSoftmaxTest, MergingCommutesToTheBit) {
  for (const SoftmaxState a : SomeStates()) {
    for (const SoftmaxState b : SomeStates()) {
      ExpectSameBits(Merge(a, b), Merge(b, a));
    }
  }
}

TEST(OnlineSoftmaxTest, MergingAssociates) {
  for (const SoftmaxState a : SomeStates()) {
    for (const SoftmaxState b : SomeStates()) {
      for (const SoftmaxState c : SomeStates()) {
        ExpectNear(Merge(Merge(a, b), c), Merge(a, Merge(b, c)));
      }
    }
  }
}

TEST(OnlineSoftmaxTest, PushingIsMergingWithOneToken) {
  for (const SoftmaxState s : SomeStates()) {
    for (float score : {-1000.0f, -1.5f, 0.0f, 3.0f, 900.0f, 3e38f}) {
      const SoftmaxStep step = Push(s, score);
      ExpectNear(step.state, Merge(s, One(score)));
      EXPECT_EQ(step.state.sum, s.sum * step.keep + step.weight);
    }
  }
}

TEST(OnlineSoftmaxTest, AMaskedScoreChangesNothing) {
  for (const SoftmaxState s : SomeStates()) {
    const SoftmaxStep step = Push(s, -kInf);
    ExpectSameBits(step.state, s);
    EXPECT_EQ(step.weight, 0.0f);
  }
  // An all-masked start, then a live token: the live token alone.
  ExpectSameBits(Push(Push({}, -kInf).state, 2.5f).state, One(2.5f));
}

TEST(OnlineSoftmaxTest, AnEmptyStateGivesZeroAndMinusInfinity) {
  EXPECT_TRUE(IsEmpty({}));
  EXPECT_EQ(InverseSum({}), 0.0f);
  EXPECT_EQ(Lse({}), -kInf);
  EXPECT_EQ(Lse(Merge({}, {})), -kInf);
}

TEST(OnlineSoftmaxTest, NaNScoresSpoilTheSumForGood) {
  for (const SoftmaxState s : SomeStates()) {
    SoftmaxState spoiled = Push(s, kNaN).state;
    EXPECT_TRUE(std::isnan(spoiled.sum));
    EXPECT_FALSE(IsEmpty(spoiled));
    EXPECT_TRUE(std::isnan(Push(spoiled, 1.0f).state.sum));
    EXPECT_TRUE(std::isnan(Merge(spoiled, One(5.0f)).sum));
    EXPECT_TRUE(std::isnan(Merge(One(5.0f), spoiled).sum));
    EXPECT_TRUE(std::isnan(Lse(spoiled)));
  }
}

TEST(OnlineSoftmaxTest, AScoreOfInfinityIsNaNAsInTheTextbookFormula) {
  EXPECT_TRUE(std::isnan(One(kInf).sum));
}

TEST(OnlineSoftmaxTest, LseIsTheNaturalLogOfTheSum) {
  // One key: its score. N equal keys: the score plus ln N.
  for (float score : {-40.0f, 0.0f, 3.25f, 1000.0f}) {
    EXPECT_NEAR(Lse(One(score * kLog2E)), score,
                1e-6f * std::fmax(1.0f, std::fabs(score)));
    SoftmaxState s;
    for (int i = 0; i < 1000; ++i) s = Push(s, score * kLog2E).state;
    EXPECT_NEAR(Lse(s), score + std::log(1000.0f),
                1e-6f * std::fmax(10.0f, std::fabs(score)));
  }
}

TEST(OnlineSoftmaxTest, AFoldEqualsTheSumInDouble) {
  std::mt19937 random(11);
  SoftmaxState s;
  std::vector<double> scores;
  for (int i = 0; i < 10'000; ++i) {
    const float score = static_cast<float>(random() % 4000) / 100.0f - 20.0f;
    scores.push_back(double{score});
    s = Push(s, score).state;
  }
  double sum = 0.0;
  for (double score : scores) sum += std::exp2(score - double{s.max_log2});
  EXPECT_NEAR(s.sum, sum, 1e-4 * sum);
}

}  // namespace
}  // namespace paged
