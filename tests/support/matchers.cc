#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/simd_kernels.h"
#include "tests/support/decode_session.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

// The element that is furthest past its bound, in bounds.
struct Worst {
  double ratio = 0.0;
  std::size_t index = 0;
  double actual = 0.0;

  void Consider(double value, double expected, double bound, std::size_t i) {
    double r = std::fabs(value - expected) / bound;
    if (value == expected) r = 0.0;  // also for infinities, and bound 0
    if (std::isnan(value) && std::isnan(expected)) r = 0.0;
    if (std::isnan(r)) r = INFINITY;
    if (r > ratio) *this = {r, i, value};
  }
};

::testing::AssertionResult Describe(const Worst& worst, const char* tensor,
                                    const std::vector<double>& expected,
                                    const std::vector<double>& bound,
                                    const DecodePlan& plan) {
  return ::testing::AssertionFailure()
         << tensor << "[" << worst.index << "] is " << worst.actual
         << ", expected " << expected[worst.index] << " within "
         << bound[worst.index] << "; " << ToString(plan);
}

}  // namespace

Oracle OracleFor(BackendKind kind, const Problem& problem) {
  WeightStorage storage = WeightStorage::kFloat;
  if (kind == BackendKind::kCuda && problem.query_dtype() != DType::kF32) {
    storage = WeightStorage::kElement;
  }
  const SimdKernels* simd = FindSimdKernels();
  if (kind == BackendKind::kCpu && problem.spec.dtype == DType::kInt8 &&
      simd != nullptr && simd->int8_dot != nullptr) {
    storage = WeightStorage::kInteger;
  }
  return ComputeOracle(problem, storage);
}

::testing::AssertionResult IsNear(const DecodeResult& result,
                                  const Oracle& oracle) {
  const auto count =
      result.output.size() / static_cast<std::size_t>(SizeOf(result.dtype));
  if (count != oracle.output.size() || result.lse.size() != oracle.lse.size()) {
    return ::testing::AssertionFailure() << "sizes differ";
  }
  Worst output;
  for (std::size_t i = 0; i < count; ++i) {
    output.Consider(ReadElement(result.dtype, result.output.data(),
                                static_cast<int64_t>(i)),
                    oracle.output[i], oracle.output_bound[i], i);
  }
  if (output.ratio > 1.0) {
    return Describe(output, "output", oracle.output, oracle.output_bound,
                    result.plan);
  }
  Worst lse;
  for (std::size_t i = 0; i < result.lse.size(); ++i) {
    lse.Consider(double{result.lse[i]}, oracle.lse[i], oracle.lse_bound[i], i);
  }
  if (lse.ratio > 1.0) {
    return Describe(lse, "lse", oracle.lse, oracle.lse_bound, result.plan);
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult BitEqual(const DecodeResult& a,
                                    const DecodeResult& b) {
  if (a.output.size() != b.output.size() || a.lse.size() != b.lse.size()) {
    return ::testing::AssertionFailure() << "sizes differ";
  }
  const auto different =
      std::mismatch(a.output.begin(), a.output.end(), b.output.begin()).first;
  if (different != a.output.end()) {
    return ::testing::AssertionFailure()
           << "outputs differ from element "
           << (different - a.output.begin()) / SizeOf(a.dtype) << " on; "
           << ToString(a.plan) << " and " << ToString(b.plan);
  }
  for (std::size_t i = 0; i < a.lse.size(); ++i) {
    if (std::memcmp(&a.lse[i], &b.lse[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure()
             << "lse[" << i << "] is " << a.lse[i] << " and " << b.lse[i]
             << "; " << ToString(a.plan) << " and " << ToString(b.plan);
    }
  }
  return ::testing::AssertionSuccess();
}

DecodeResult RowsOf(const DecodeResult& batch, const Problem& problem,
                    int seq) {
  const int64_t heads = problem.spec.num_q_heads;
  const int64_t row = problem.value_dim() * SizeOf(problem.query_dtype());
  const int64_t first = problem.FirstToken(seq) * heads;
  const int64_t last = problem.FirstToken(seq + 1) * heads;
  DecodeResult rows{
      .dtype = batch.dtype, .plan = batch.plan, .output = {}, .lse = {}};
  rows.output.assign(batch.output.begin() + first * row,
                     batch.output.begin() + last * row);
  rows.lse.assign(batch.lse.begin() + first, batch.lse.begin() + last);
  return rows;
}

}  // namespace paged::testing
