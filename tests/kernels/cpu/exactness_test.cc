// How near outputs of floats are to plain loops in double precision: what each
// step of the arithmetic may lose, in problems made so that it shows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/cpu/simd_kernels.h"
#include "tests/kernels/cpu/long_problem.h"

namespace paged {
namespace {

using testing::kDim;
using testing::LongProblem;
using testing::RelativeError;
using testing::Result;
using testing::ResultsOf;

// Whether products of scores and scale are added without being rounded.
bool HasFma(const Result& result) { return result.kernels != "SSE4"; }

// Scores of some 150, whose last digit is 1.5e-5: with rounded ones outputs are
// 2e-6 off.
TEST(ExactnessTest, LargeScoresCostNoDigits) {
  LongProblem problem(128, 2, 1);
  // Multiples of 2^-4, so that scores are exact but for the scale.
  for (float& x : problem.query) x = std::round(x * 16.0f) / 16.0f;
  for (float& x : problem.keys) x = std::round(x * 16.0f) / 16.0f;
  for (std::size_t r = 0; r < 2; ++r) problem.query[r * kDim] = 512.0f;
  for (int t = 0; t < 128; ++t) problem.RowOf(problem.keys, t)[0] = 1.0f;
  problem.params.scale_log2 = 0.3f;
  const std::vector<Result> results = ResultsOf(problem);
  for (const Result& result : results) {
    const double error = RelativeError(result.output, results[0].output);
    EXPECT_LT(error, HasFma(result) ? 3e-7 : 1e-5) << result.kernels;
    RecordProperty(result.kernels, std::to_string(error * 1e6) + "e-6");
  }
}

// Weights that are each too small to change the sum of those before them, and
// are 2e-6 of it together.
TEST(ExactnessTest, SmallWeightsAreInTheSum) {
  LongProblem problem(1024, 1, 1);
  problem.query.assign(kDim, 0.0f);
  problem.query[0] = 1.0f;
  for (int t = 0; t < 1024; ++t) {
    const bool is_large = t < 32;
    problem.RowOf(problem.keys, t)[0] = is_large ? 0.0f : -24.0f;
    for (int d = 0; d < kDim; ++d) {
      problem.RowOf(problem.values, t)[d] = is_large ? 1.0f : 0.0f;
    }
  }
  problem.params.scale_log2 = 1.0f;
  const double sum = 32.0 + 992.0 * 0x1p-24;
  for (const Result& result : ResultsOf(problem)) {
    if (result.kernels == "scalar") continue;  // adds one after another
    for (float x : result.output) {
      EXPECT_NEAR(x, 32.0 / sum, 1.2e-7) << result.kernels;
    }
  }
}

// 511 tokens of a group of 3 in two splits, many times. With rounded scores,
// values of a step in one sum and rounded inverses of sums it is 1.6e-7.
TEST(ExactnessTest, AFewHundredTokensAreNear) {
  constexpr int kProblems = 40;
  std::map<std::string, double> squares;
  for (int i = 0; i < kProblems; ++i) {
    LongProblem problem(511, 3, 2, static_cast<uint32_t>(10 + 3 * i));
    problem.params.scale_log2 = kLog2E / std::sqrt(float{kDim});
    const std::vector<Result> results = ResultsOf(problem);
    for (const Result& result : results) {
      squares[result.kernels] +=
          std::pow(RelativeError(result.output, results[0].output), 2);
    }
  }
  for (const auto& [kernels, square] : squares) {
    const double error = std::sqrt(square / kProblems);
    const double bound = kernels == "scalar" ? 4e-7
                         : kernels == "SSE4" ? 1.5e-7
                                             : 1.3e-7;
    EXPECT_LT(error, bound) << kernels;
    RecordProperty(kernels, std::to_string(error * 1e6) + "e-6");
  }
}

// Products of scores and scale past the largest float give NaN, not weights of
// nothing.
TEST(ExactnessTest, ScoresThatOverflowAreNoNumbers) {
  LongProblem problem(64, 3, 1);
  problem.params.scale_log2 = 3e38f;
  const std::vector<Result> results = ResultsOf(problem);
  for (std::size_t i = 1; i < results.size(); ++i) {
    for (float x : results[i].output) {
      EXPECT_TRUE(std::isnan(x)) << results[i].kernels << ": " << x;
    }
  }
}

// Where the last digit of a score is more than 1, the largest has all weight.
TEST(ExactnessTest, ScoresWithoutDigitsStillHaveWeights) {
  for (float scale : {3e6f, 3e10f, 3e30f}) {
    LongProblem problem(64, 3, 1);
    problem.params.scale_log2 = scale;
    const std::vector<Result> results = ResultsOf(problem);
    for (const Result& result : results) {
      EXPECT_LT(RelativeError(result.output, results[0].output), 1e-6)
          << result.kernels << ", " << scale;
    }
  }
}

TEST(ExactnessTest, RowsAreDividedByTheirSum) {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    std::vector<float> from(1000), to(1000);
    for (std::size_t i = 0; i < from.size(); ++i) {
      from[i] = static_cast<float>(i);
    }
    for (float sum : {3.0f, 7.0f, 511.25f}) {
      kernels.f32->store_row(from.data(), sum, 1.0f, 1000, to.data());
      for (std::size_t i = 0; i < from.size(); ++i) {
        ASSERT_EQ(to[i], from[i] / sum) << kernels.target << ", " << i;
      }
    }
  }
}

}  // namespace
}  // namespace paged
