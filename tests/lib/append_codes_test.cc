// Appends whose rows are converted: to another dtype, or by scales.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/lib/append_model.h"
#include "tests/support/codes.h"
#include "tests/support/element.h"

namespace paged::testing {
namespace {

// The case's dtype is that of the rows.
using AppendCodesTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(
    Cpu, AppendCodesTest,
    ::testing::Values(BackendCase{BackendKind::kCpu, DType::kF16},
                      BackendCase{BackendKind::kCpu, DType::kBF16},
                      BackendCase{BackendKind::kCpu, DType::kF32}),
    CaseName);
INSTANTIATE_TEST_SUITE_P(
    Cuda, AppendCodesTest,
    ::testing::Values(BackendCase{BackendKind::kCuda, DType::kF16},
                      BackendCase{BackendKind::kCuda, DType::kBF16},
                      BackendCase{BackendKind::kCuda, DType::kF32}),
    CaseName);

constexpr DType kAllDTypes[] = {DType::kF16,     DType::kBF16,    DType::kF32,
                                DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8};
constexpr DType kEightBits[] = {DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8};
constexpr ScaleGranularity kGranularities[] = {
    ScaleGranularity::kNone, ScaleGranularity::kTensor, ScaleGranularity::kHead,
    ScaleGranularity::kToken};

TEST_P(AppendCodesTest, EveryDTypeAndGranularityEqualsThePlainLoop) {
  uint32_t seed = 0;
  for (DType code : kAllDTypes) {
    for (ScaleGranularity keys : kGranularities) {
      for (ScaleGranularity values : kGranularities) {
        SCOPED_TRACE(::testing::Message()
                     << NameOf(code) << ", keys " << static_cast<int>(keys)
                     << ", values " << static_cast<int>(values));
        seed += 2;
        const CodesSpec key{.code = code, .factor = 0.3f, .granularity = keys};
        const CodesSpec value{.code = code, .granularity = values};
        ExpectCodes(kind(), dtype(), key, value, RandomValues(key, seed),
                    RandomValues(value, seed + 1));
      }
    }
  }
}

// Rows of many pieces and of fewer than a lane's, aligned or not; values of a
// dimension of their own.
TEST_P(AppendCodesTest, RowsOfEverySizeAndStrideEqualThePlainLoop) {
  uint32_t seed = 100;
  for (DType code : {DType::kF16, DType::kFp8E4M3, DType::kInt8}) {
    for (int dim : {1, 2, 8, 46, 59, 72, 128, 192, 256, 320, 576}) {
      for (int64_t gap : {0, 3, 8}) {
        SCOPED_TRACE(::testing::Message()
                     << NameOf(code) << ", dim " << dim << ", gap " << gap);
        seed += 2;
        const CodesSpec key{.code = code,
                            .dim = dim,
                            .gap = gap,
                            .granularity = ScaleGranularity::kToken};
        CodesSpec value = key;
        value.dim = dim / 2 + 8;
        value.factor = 3.7f;
        ExpectCodes(kind(), dtype(), key, value, RandomValues(key, seed),
                    RandomValues(value, seed + 1));
      }
    }
  }
}

// BR-127: what is appended is what decode multiplies by the same scale.
TEST_P(AppendCodesTest, EveryCodeComesBack) {
  for (DType code : kEightBits) {
    for (float factor : {1.0f, 0.25f, 2.0f}) {
      for (bool only_numbers : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << NameOf(code) << " " << factor << " " << only_numbers);
        const CodesSpec spec{.code = code,
                             .dim = 256,
                             .slots = {0, 5},
                             .num_kv_heads = 1,
                             .factor = factor};
        std::vector<float> values;
        for (int i = 0; i < 512; ++i) {
          const auto value = static_cast<float>(
              DecodeBits(code, static_cast<uint16_t>(i % 256)));
          // e5m2 reaches past fp16 once it is doubled.
          const bool is_left_out = (factor > 1.0f && dtype() == DType::kF16 &&
                                    std::fabs(value) > 30000.0f) ||
                                   (only_numbers && !std::isfinite(value));
          values.push_back(is_left_out ? 0.0f : value * factor);
        }
        ExpectCodes(kind(), dtype(), spec, spec, values, values);
      }
    }
  }
}

// Halfway between all neighbours, and a float to either side of it; then what
// is so many times the largest.
std::vector<float> TiesAnd(DType code, const std::vector<float>& factors) {
  std::vector<float> values;
  for (int i = 0; i < 127; ++i) {
    const double below = DecodeBits(code, static_cast<uint16_t>(i));
    const double above = DecodeBits(code, static_cast<uint16_t>(i + 1));
    if (!std::isfinite(above)) continue;
    const auto middle = static_cast<float>((below + above) / 2);
    for (const float value :
         {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  const auto largest = static_cast<float>(LargestCode(code));
  for (const float factor : factors) {
    values.push_back(largest * factor);
    values.push_back(-largest * factor);
  }
  return values;
}

// One value decides how its row is converted, so rows differ in what they
// reach; and in whether they are whole pieces.
TEST_P(AppendCodesTest, TiesGoToEvenAndWhatIsTooLargeToTheLargest) {
  const std::vector<float> factors[] = {{},
                                        {1.0f, 1.01f, 1.04f, 1.1f},
                                        {1.0f, 2.0f, 1e4f, 1e7f, 1e12f, 1e18f},
                                        {1.0f, 2.0f, 1e4f, 1e30f}};
  for (DType code : kEightBits) {
    for (const std::vector<float>& of_row : factors) {
      for (bool is_whole : {false, true}) {
        std::vector<float> values = TiesAnd(code, of_row);
        const std::size_t size = (values.size() + 7) / 8 * 8;
        values.resize(is_whole ? size : size + 1);
        SCOPED_TRACE(::testing::Message()
                     << NameOf(code) << ", " << of_row.size()
                     << " large ones, dim " << values.size());
        const CodesSpec spec{.code = code,
                             .dim = static_cast<int>(values.size()),
                             .slots = {9},
                             .num_kv_heads = 1};
        ExpectCodes(kind(), dtype(), spec, spec, values, values);
      }
    }
  }
}

// Scales stay positive, finite and normal, whatever the rows and the factor.
TEST_P(AppendCodesTest, ExtremeRowsHaveUsableScales) {
  const float extremes[] = {1e-45f, 1e-38f, 1e-7f, 65504.0f, 3e38f};
  for (DType code : kAllDTypes) {
    for (float factor : {1e-30f, 1.0f, 1e30f}) {
      CodesSpec spec{.code = code,
                     .dim = 8,
                     .slots = {4, 3, 2, 1, 0},
                     .num_kv_heads = 1,
                     .factor = factor,
                     .granularity = ScaleGranularity::kToken};
      std::vector<float> values;
      for (float extreme : extremes) {
        for (int d = 0; d < 8; ++d) {
          values.push_back(extreme * static_cast<float>(d - 3) / 4);
        }
      }
      SCOPED_TRACE(::testing::Message() << NameOf(code) << " " << factor);
      ExpectCodes(kind(), dtype(), spec, spec, values, values);
    }
  }
}

TEST_P(AppendCodesTest, ManyTokensGoInOneCall) {
  CodesSpec spec{
      .dim = 64, .num_blocks = 125, .granularity = ScaleGranularity::kToken};
  spec.slots.clear();
  for (int i = 0; i < 2000; ++i) {
    spec.slots.push_back(i % 13 == 0 ? -1 : (i * 7) % 2000);
  }
  ExpectCodes(kind(), dtype(), spec, spec, RandomValues(spec, 1),
              RandomValues(spec, 2));
}

}  // namespace
}  // namespace paged::testing
