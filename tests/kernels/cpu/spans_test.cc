// Items of more tokens than a span (kernels/cpu/spans.h), by the scalar kernels
// and by the vector ones of every instruction set, against plain loops in
// double precision.
#include "kernels/cpu/spans.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/hash.h"
#include "kernels/cpu/decode_kernels.h"
#include "kernels/cpu/simd_decode.h"
#include "tests/kernels/cpu/simd_agreement.h"

namespace paged {
namespace {

using testing::kInf;
using testing::kNaN;

constexpr DecodeElements kFloats{ElementKind::kF32, ElementKind::kF32};
constexpr int kDim = 32;

// One sequence of one kv head and floats, in blocks of 16 in reverse order.
struct LongProblem {
  LongProblem(int context_len, int group, int splits) {
    const int num_blocks = (context_len + 15) / 16;
    for (int i = num_blocks; i-- > 0;) table.push_back(i);
    lens[0] = context_len;
    const int64_t row = int64_t{group} * kDim;
    query.resize(static_cast<std::size_t>(row));
    output.resize(query.size());
    lse.resize(static_cast<std::size_t>(group));
    const auto size = static_cast<std::size_t>(num_blocks * 16 * kDim);
    keys.resize(size);
    values.resize(size);
    for (std::size_t i = 0; i < query.size(); ++i) {
      query[i] = HashUniform(1, static_cast<int64_t>(i));
    }
    for (std::size_t i = 0; i < size; ++i) {
      keys[i] = HashUniform(2, static_cast<int64_t>(i));
      values[i] = HashUniform(3, static_cast<int64_t>(i));
    }
    const auto partials = static_cast<std::size_t>(group * splits);
    states.resize(partials);
    partial_values.resize(partials * kDim);
    params.query = {query.data(), row, row, kDim};
    params.output = {output.data(), row, row, kDim};
    params.key = {keys.data(), 16 * kDim, kDim, kDim};
    params.value = {values.data(), 16 * kDim, kDim, kDim};
    params.lse = lse.data();
    params.block_tables = table.data();
    params.block_table_stride = num_blocks;
    params.context_lens = lens;
    params.partials = {states.data(), partial_values.data()};
    params.num_seqs = params.num_kv_heads = params.num_row_tiles = 1;
    params.group = params.rows_per_item = group;
    params.key_dim = params.value_dim = kDim;
    params.block_size = 16;
    params.max_context_len = context_len;
    params.num_splits = splits;
    params.scale_log2 = 0.5f;
  }
  // Of the place that the table gives a token.
  float* RowOf(std::vector<float>& pool, int token) const {
    const int64_t slot =
        int64_t{table[static_cast<std::size_t>(token / 16)]} * 16 + token % 16;
    return pool.data() + slot * kDim;
  }

  std::vector<int32_t> table;
  int32_t lens[1];
  std::vector<float> query, keys, values, output, lse, partial_values;
  std::vector<SoftmaxState> states;
  DecodeParams params;
};

struct Result {
  std::string kernels;
  std::vector<float> output, lse;
};

// Of all kernels, the reference first.
std::vector<Result> ResultsOf(LongProblem& problem) {
  const DecodeParams& p = problem.params;
  ThreadPool pool(1);
  std::vector<Result> results;
  const auto run = [&](const char* name, const std::function<void()>& kernels) {
    problem.output.assign(problem.output.size(), kNaN);
    problem.lse.assign(problem.lse.size(), kNaN);
    kernels();
    results.push_back({name, problem.output, problem.lse});
  };
  run("reference", [&] { RunReference(kFloats, p); });
  run("scalar", [&] {
    if (p.num_splits == 1) return RunV1(kFloats, p, pool);
    RunSplitK(kFloats, p, pool);
    RunReduceSplits(kFloats, p, pool);
  });
  for (const SimdKernels& simd : AllSimdKernels()) {
    run(simd.target, [&] {
      if (p.num_splits == 1) return RunSimdV1(simd, kFloats, p, pool);
      RunSimdSplitK(simd, kFloats, p, pool);
      RunSimdReduceSplits(simd, kFloats, p, pool);
    });
  }
  return results;
}

double RelativeError(const std::vector<float>& output,
                     const std::vector<float>& expected) {
  double error = 0.0, size = 0.0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    error += std::pow(double{output[i]} - double{expected[i]}, 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(error / size);
}

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
