// Items of more tokens than a span (kernels/cpu/spans.h), by the scalar kernels
// and by the vector ones of every instruction set, against plain loops in
// double precision.
#include "kernels/cpu/spans.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/kernels/cpu/long_problem.h"

namespace paged {
namespace {

using testing::kDim;
using testing::kInf;
using testing::kNaN;
using testing::LongProblem;
using testing::RelativeError;
using testing::Result;
using testing::ResultsOf;

bool IsNear(float a, float b) {
  return testing::IsNear(a, b, 1e-5f * std::fmax(1.0f, std::fabs(b)));
}

// Every kernel's output and lse near the reference's.
void ExpectAllNear(LongProblem& problem) {
  const std::vector<Result> results = ResultsOf(problem);
  const Result& expected = results[0];
  for (const Result& result : results) {
    for (std::size_t i = 0; i < result.output.size(); ++i) {
      ASSERT_TRUE(IsNear(result.output[i], expected.output[i]))
          << result.kernels << ", " << i << ": " << result.output[i] << " and "
          << expected.output[i];
    }
    for (std::size_t i = 0; i < result.lse.size(); ++i) {
      ASSERT_TRUE(IsNear(result.lse[i], expected.lse[i]))
          << result.kernels << ", lse " << i << ": " << result.lse[i] << " and "
          << expected.lse[i];
    }
  }
}

// Without spans the scalar kernels are 5.8e-5 off; without steps that are
// summed up on their own, the others 7e-7.
TEST(SpansTest, TheErrorOfManyTokensStaysThatOfAFew) {
  LongProblem problem(65536, 2, 1);
  const std::vector<Result> results = ResultsOf(problem);
  for (const Result& result : results) {
    const double error = RelativeError(result.output, results[0].output);
    const bool has_steps = result.kernels != "scalar";
    EXPECT_LT(error, has_steps ? 4e-7 : 1e-6) << result.kernels;
    RecordProperty(result.kernels, std::to_string(error * 1e6) + "e-6");
  }
}

TEST(SpansTest, LengthsAroundTheEndOfASpanAreWhole) {
  for (int splits : {1, 3}) {
    for (int spans : {1, 2, 3, 6}) {
      for (int beside : {-33, -16, -1, 0, 1, 15, 17, 33}) {
        SCOPED_TRACE(::testing::Message()
                     << spans << " spans and " << beside << " tokens, "
                     << splits << " splits");
        LongProblem problem(spans * kSpanTokens + beside, 3, splits);
        ExpectAllNear(problem);
      }
    }
  }
}

// Maxima that a later span raises, and those that an earlier one has.
TEST(SpansTest, SpansOfDifferentMaximaWeighWhatTheyShould) {
  for (int loudest : {0, 1, 2, 3}) {
    LongProblem problem(4 * kSpanTokens, 2, 1);
    for (int t = 0; t < 4 * kSpanTokens; ++t) {
      float* key = problem.RowOf(problem.keys, t);
      const float factor = t / kSpanTokens == loudest ? 8.0f : 1.0f;
      for (int d = 0; d < kDim; ++d) key[d] *= factor;
      problem.RowOf(problem.values, t)[0] =
          static_cast<float>(1 + t / kSpanTokens);
    }
    ExpectAllNear(problem);
  }
}

// What is not finite spoils a row, and what has no weight does not, in
// whichever span it stands.
TEST(SpansTest, WhatIsNotFiniteIsKept) {
  for (int token : {5, kSpanTokens - 1, kSpanTokens + 5, 3 * kSpanTokens - 1}) {
    for (float poison : {kNaN, kInf, -kInf}) {
      LongProblem keys(3 * kSpanTokens, 2, 1);
      keys.RowOf(keys.keys, token)[3] = poison;
      ExpectAllNear(keys);
      LongProblem values(3 * kSpanTokens, 2, 1);
      values.RowOf(values.values, token)[kDim - 1] = poison;
      ExpectAllNear(values);
    }
  }
}

// Spans without a token of any weight, before or after one that has some.
TEST(SpansTest, EmptySpansChangeNothing) {
  for (int live : {-1, 0, 1, 2}) {
    LongProblem problem(3 * kSpanTokens, 1, 1);
    problem.query.assign(kDim, 1.0f);
    for (int t = 0; t < 3 * kSpanTokens; ++t) {
      if (t / kSpanTokens != live) {
        problem.RowOf(problem.keys, t)[0] = -kInf;
      }
    }
    ExpectAllNear(problem);
  }
}

}  // namespace
}  // namespace paged
