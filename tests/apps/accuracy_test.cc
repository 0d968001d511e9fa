#include "apps/accuracy.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace paged {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// Two sequences of one head with two dims.
Layer TwoSequences() {
  Layer layer;
  layer.dtype = DType::kF16;
  layer.num_seqs = 2;
  layer.num_q_heads = layer.num_kv_heads = 1;
  layer.head_dim = layer.value_dim = 2;
  layer.context_lens = {3, 4};
  return layer;
}

Answer Right() { return {.output = {3, 4, 300, 400}, .lse = {-kInf, 7}}; }

TEST(AccuracyTest, EqualAnswersPassWithInfiniteLse) {
  const Accuracy accuracy = Compare(TwoSequences(), Right(), Right(), "it");
  EXPECT_TRUE(accuracy.pass) << accuracy.failure;
  EXPECT_EQ(accuracy.max_abs_error, 0);
}

TEST(AccuracyTest, JudgesEverySequenceByItself) {
  // Over both sequences 1e-4; over the first alone 1e-2.
  Answer answer = Right();
  answer.output[0] += 0.05;
  const Accuracy accuracy = Compare(TwoSequences(), answer, Right(), "it");
  EXPECT_FALSE(accuracy.pass);
  EXPECT_NEAR(accuracy.max_relative_l2, 1e-2, 1e-9);
  EXPECT_NEAR(accuracy.max_abs_error, 0.05, 1e-9);
  EXPECT_NE(accuracy.failure.find("sequence 0"), std::string::npos);
}

TEST(AccuracyTest, StaysFiniteWithWhatIsNotANumber) {
  for (double bad : {kNan, kInf, -kInf, 1e300}) {
    Answer answer = Right();
    answer.output[3] = bad;
    const Accuracy accuracy = Compare(TwoSequences(), answer, Right(), "it");
    EXPECT_FALSE(accuracy.pass) << bad;
    EXPECT_TRUE(std::isfinite(accuracy.max_abs_error)) << bad;
    EXPECT_TRUE(std::isfinite(accuracy.max_relative_l2)) << bad;
  }
}

TEST(AccuracyTest, AnInfiniteLseOnOneSideFails) {
  Answer answer = Right();
  answer.lse = {0, 7};
  EXPECT_FALSE(Compare(TwoSequences(), answer, Right(), "it").pass);
  answer.lse = {-kInf, -kInf};
  EXPECT_FALSE(Compare(TwoSequences(), answer, Right(), "it").pass);
  answer.lse = {kInf, 7};
  EXPECT_FALSE(Compare(TwoSequences(), answer, Right(), "it").pass);
}

TEST(AccuracyTest, AllowsAnLseItsShareAndNoMore) {
  Answer answer = Right();
  answer.lse[1] = 7 + 6.9e-4;
  EXPECT_TRUE(Compare(TwoSequences(), answer, Right(), "it").pass);
  answer.lse[1] = 7 + 7.1e-4;
  EXPECT_FALSE(Compare(TwoSequences(), answer, Right(), "it").pass);
}

TEST(AccuracyTest, ZeroMustBeMetExactly) {
  Answer right = Right();
  right.output = {0, 0, 300, 400};
  EXPECT_TRUE(Compare(TwoSequences(), right, right, "it").pass);
  Answer answer = right;
  answer.output[0] = 1e-9;
  EXPECT_FALSE(Compare(TwoSequences(), answer, right, "it").pass);
}

}  // namespace
}  // namespace paged
