// One sequence of floats, and what every kernel of the CPU makes of it.
#ifndef PAGED_TESTS_KERNELS_CPU_LONG_PROBLEM_H_
#define PAGED_TESTS_KERNELS_CPU_LONG_PROBLEM_H_

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

namespace paged::testing {

inline constexpr DecodeElements kFloats{ElementKind::kF32, ElementKind::kF32};
inline constexpr int kDim = 32;

// One sequence of one kv head and floats, in blocks of 16 in reverse order.
struct LongProblem {
  LongProblem(int context_len, int group, int splits, uint32_t seed = 1) {
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
      query[i] = HashUniform(seed, static_cast<int64_t>(i));
    }
    for (std::size_t i = 0; i < size; ++i) {
      keys[i] = HashUniform(seed + 1, static_cast<int64_t>(i));
      values[i] = HashUniform(seed + 2, static_cast<int64_t>(i));
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
inline std::vector<Result> ResultsOf(LongProblem& problem) {
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

inline double RelativeError(const std::vector<float>& output,
                            const std::vector<float>& expected) {
  double error = 0.0, size = 0.0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    error += std::pow(double{output[i]} - double{expected[i]}, 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(error / size);
}

}  // namespace paged::testing

#endif  // PAGED_TESTS_KERNELS_CPU_LONG_PROBLEM_H_
