// The second pass on its own, on either backend: partials that no attention
// made, against their merge in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/decode_kernels.h"
#include "tests/support/element.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/test_backend.h"

#if defined(PAGED_HAS_CUDA)
#include "kernels/cuda/launch.h"
#include "tests/support/cuda_memory.h"
#endif

namespace paged::testing {
namespace {

using ReduceSplitsBackendTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, ReduceSplitsBackendTest,
                         ::testing::ValuesIn(CpuCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, ReduceSplitsBackendTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr int kDim = 128;

ElementKind KindOf(DType dtype) {
  if (dtype == DType::kF16) return ElementKind::kF16;
  return dtype == DType::kBF16 ? ElementKind::kBF16 : ElementKind::kF32;
}

bool Reduce(BackendKind kind, ElementKind element, const DecodeParams& params) {
  if (kind != BackendKind::kCuda) {
    ThreadPool pool(2);
    RunReduceSplits({element, element}, params, pool);
    return true;
  }
#if defined(PAGED_HAS_CUDA)
  DecodeParams typed = params;
  typed.query_element = element;
  const cudaError_t error = LaunchReduceSplits(typed, nullptr);
  CudaSynchronizeDevice();
  return error == cudaSuccess;
#else
  return false;
#endif
}

// Partials of 3 sequences, 2 kv heads and 20 rows in tiles of 10.
class Partials {
 public:
  Partials(int num_splits, const std::function<bool(int split)>& is_live)
      : num_splits_(num_splits) {
    params_.num_seqs = 3;
    params_.num_kv_heads = 2;
    params_.group = 20;
    params_.rows_per_item = 10;
    params_.num_row_tiles = 2;
    params_.num_splits = num_splits;
    params_.key_dim = params_.value_dim = kDim;
    params_.output = {nullptr, 40 * kDim, 40 * kDim, kDim};
    const int64_t rows = NumItems(params_) * params_.num_splits * 2 * 10;
    states_.resize(static_cast<std::size_t>(rows));
    values_.resize(static_cast<std::size_t>(rows * kDim), kNaN);
    std::mt19937 random(7);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const auto split = static_cast<int>(i / 20) % num_splits;
      if (!is_live(split)) continue;
      states_[i] = {static_cast<float>(random() % 64) - 32.0f,
                    1.0f + static_cast<float>(random() % 100)};
      for (std::size_t d = 0; d < kDim; ++d) {
        values_[i * kDim + d] = static_cast<float>(random() % 1000) - 500.0f;
      }
    }
  }

  // The result is the merge of the live ones alone.
  void ExpectMerged(BackendKind kind, DType dtype) {
    GuardedBuffer states(kind, states_.size() * sizeof(SoftmaxState));
    GuardedBuffer values(kind, values_.size() * sizeof(float));
    GuardedBuffer output(
        kind, static_cast<std::size_t>(3 * 40 * kDim * SizeOf(dtype)));
    GuardedBuffer lse(kind, 3 * 40 * sizeof(float));
    states.UploadValues(states_);
    values.UploadValues(values_);
    output.Fill(std::byte{0xff});
    lse.Fill(std::byte{0xff});
    DecodeParams params = params_;
    params.partials = {static_cast<SoftmaxState*>(states.data()),
                       static_cast<float*>(values.data())};
    params.output.data = output.data();
    params.lse = static_cast<float*>(lse.data());
    ASSERT_TRUE(Reduce(kind, KindOf(dtype), params));
    EXPECT_TRUE(output.AreCanariesIntact());
    EXPECT_TRUE(lse.AreCanariesIntact());
    const std::vector<std::byte> outputs = output.Download();
    const std::vector<std::byte> lses = lse.Download();
    for (int row = 0; row < 3 * 40; ++row) {
      ExpectRow(row, dtype, outputs.data(), lses.data());
    }
  }

 private:
  // Index into states_ of a row of [seq, q head] in a split.
  std::size_t StateIndex(int row, int split) const {
    const int seq = row / 40, kv_head = row % 40 / 20, in_head = row % 20;
    return static_cast<std::size_t>(
        ((seq * 2 + in_head / 10) * num_splits_ + split) * 20 + kv_head * 10 +
        in_head % 10);
  }

  void ExpectRow(int row, DType dtype, const void* outputs,
                 const void* lses) const {
    double max = -INFINITY, sum = 0.0;
    for (int s = 0; s < num_splits_; ++s) {
      max = std::max(max, double{states_[StateIndex(row, s)].max_log2});
    }
    std::vector<double> expected(kDim, 0.0);
    double magnitude = 0.0;
    for (int s = 0; s < num_splits_; ++s) {
      const std::size_t i = StateIndex(row, s);
      if (states_[i].sum == 0.0f) continue;
      const double weight = std::exp2(double{states_[i].max_log2} - max);
      sum += weight * double{states_[i].sum};
      magnitude += weight * 500.0;
      for (std::size_t d = 0; d < kDim; ++d) {
        expected[d] += weight * double{values_[i * kDim + d]};
      }
    }
    const double lse = ReadElement(DType::kF32, lses, row);
    if (sum == 0.0) {
      ASSERT_EQ(lse, -INFINITY) << row;
    } else {
      ASSERT_NEAR(lse, (max + std::log2(sum)) * std::log(2.0), 2e-5) << row;
    }
    for (int d = 0; d < kDim; ++d) {
      const double actual = ReadElement(dtype, outputs, row * kDim + d);
      if (sum == 0.0) {
        ASSERT_EQ(actual, 0.0) << row;
        continue;
      }
      const double exact = expected[static_cast<std::size_t>(d)] / sum;
      ASSERT_NEAR(actual, exact,
                  1e-5 * magnitude / sum +
                      1.01 * UnitRoundoff(dtype) * std::fabs(exact) + 1e-7)
          << "row " << row << ", dim " << d;
    }
  }

  int num_splits_;
  DecodeParams params_;
  std::vector<SoftmaxState> states_;
  std::vector<float> values_;
};

// BR-016, 079: empty partials hold NaN values; any number of splits is summed.
TEST_P(ReduceSplitsBackendTest, MergesTheLivePartialsAlone) {
  for (int splits : {1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 128, 1024}) {
    const std::vector<std::function<bool(int)>> patterns = {[](int) { return false; },
                                                            [](int) { return true; },
                                                            [](int s) { return s == 0; },
                                                            [splits](int s) { return s == splits - 1; },
                                                            [](int s) { return s != 0; },
                                                            [splits](int s) { return s != splits - 1; },
                                                            [](int s) { return s % 3 == 1; }};
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << splits << " splits, " << i);
      Partials(splits, patterns[i]).ExpectMerged(kind(), dtype());
    }
  }
}

}  // namespace
}  // namespace paged::testing
