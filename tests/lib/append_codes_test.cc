// Appends whose rows are converted: to another dtype, or by scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "paged/append_kv.h"
#include "tests/support/codes.h"
#include "tests/support/element.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/test_backend.h"

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

struct CodesSpec {
  DType code = DType::kFp8E4M3;
  int dim = 64;
  std::vector<int64_t> slots = {17, 3, -1, 111, 64, 7 * 16, 20};
  int num_kv_heads = 3;
  int block_size = 16;
  int64_t num_blocks = 7;
  int64_t gap = 0;  // elements between rows of the caches and of the scales
  float factor = 1.0f;
  ScaleGranularity granularity = ScaleGranularity::kNone;
};

// One of keys and values: values in, and the plain loop's pool and scales.
class Tensor {
 public:
  Tensor(BackendKind kind, DType row_dtype, const CodesSpec& spec,
         const std::vector<float>& values)
      : spec_(spec),
        values_(values),
        rows_(kind, values.size() * Bytes(row_dtype)),
        pool_(kind, PoolElements() * Bytes(spec.code)),
        scales_(kind, ScaleCount() * sizeof(float)) {
    std::vector<std::byte> rows(rows_.bytes());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      WriteElement(row_dtype, rows.data(), at, values[i]);
      values_[i] = static_cast<float>(ReadElement(row_dtype, rows.data(), at));
    }
    rows_.Upload(rows);
    pool_.Fill(std::byte{0xff});
    expected_pool_ = pool_.Download();
    // Those of heads are read; a token's is written, and all others stay.
    std::mt19937 random(5);
    for (std::size_t i = 0; i < ScaleCount(); ++i) {
      expected_scales_.push_back(
          spec.granularity == ScaleGranularity::kToken
              ? -1.0f
              : std::ldexp(1.0f + static_cast<float>(random() % 64) / 64, -3));
    }
    scales_.UploadValues(expected_scales_);
    for (std::size_t t = 0; t < spec.slots.size(); ++t) Append(t);
  }

  const void* rows() const { return rows_.data(); }
  void* pool() const { return pool_.data(); }
  float* scales() const { return static_cast<float*>(scales_.data()); }
  KvStrides strides() const { return StridesOf(spec_.dim); }
  KvStrides scale_strides() const {
    return spec_.granularity == ScaleGranularity::kToken ? StridesOf(1)
                                                         : KvStrides{};
  }

  void ExpectAppended() const {
    EXPECT_EQ(WithOneNaN(spec_.code, pool_.Download()),
              WithOneNaN(spec_.code, expected_pool_));
    std::vector<float> scales(expected_scales_.size());
    const std::vector<std::byte> bytes = scales_.Download();
    if (!bytes.empty()) std::memcpy(scales.data(), bytes.data(), bytes.size());
    EXPECT_EQ(scales, expected_scales_);
    EXPECT_TRUE(pool_.AreCanariesIntact());
    EXPECT_TRUE(scales_.AreCanariesIntact());
  }

 private:
  static std::size_t Bytes(DType dtype) {
    return static_cast<std::size_t>(SizeOf(dtype));
  }
  KvStrides StridesOf(int64_t dim) const {
    const int64_t head = dim + spec_.gap;
    const int64_t slot = spec_.num_kv_heads * head + spec_.gap;
    return {spec_.block_size * slot + spec_.gap, slot, head};
  }
  std::size_t PoolElements() const {
    return static_cast<std::size_t>(spec_.num_blocks *
                                    StridesOf(spec_.dim).block_stride);
  }
  std::size_t ScaleCount() const {
    switch (spec_.granularity) {
      case ScaleGranularity::kNone:
        return 0;
      case ScaleGranularity::kTensor:
        return 1;
      case ScaleGranularity::kHead:
        return static_cast<std::size_t>(spec_.num_kv_heads);
      case ScaleGranularity::kToken:
        break;
    }
    return static_cast<std::size_t>(spec_.num_blocks *
                                    StridesOf(1).block_stride);
  }

  void Append(std::size_t token) {
    const int64_t slot = spec_.slots[token];
    if (slot < 0 || slot >= spec_.num_blocks * spec_.block_size) return;
    const auto at = [&](const KvStrides& s, int head) {
      return slot / spec_.block_size * s.block_stride +
             slot % spec_.block_size * s.slot_stride + head * s.head_stride;
    };
    const auto heads = static_cast<std::size_t>(spec_.num_kv_heads);
    const auto dim = static_cast<std::size_t>(spec_.dim);
    for (std::size_t head = 0; head < heads; ++head) {
      const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(
                                               (token * heads + head) * dim);
      const std::vector<float> row(begin, begin + spec_.dim);
      const int h = static_cast<int>(head);
      float scale = spec_.factor;
      if (spec_.granularity == ScaleGranularity::kToken) {
        const float own = RowScaleOf(spec_.code, row, spec_.factor);
        expected_scales_[static_cast<std::size_t>(at(StridesOf(1), h))] = own;
        scale *= own;
      } else if (spec_.granularity == ScaleGranularity::kHead) {
        scale *= expected_scales_[head];
      } else if (spec_.granularity == ScaleGranularity::kTensor) {
        scale *= expected_scales_[0];
      }
      WriteCodes(spec_.code, expected_pool_.data(), at(StridesOf(spec_.dim), h),
                 row, scale);
    }
  }

  CodesSpec spec_;
  std::vector<float> values_;
  GuardedBuffer rows_, pool_, scales_;
  std::vector<std::byte> expected_pool_;
  std::vector<float> expected_scales_;
};

std::size_t NumValues(const CodesSpec& spec) {
  return spec.slots.size() * static_cast<std::size_t>(spec.num_kv_heads) *
         static_cast<std::size_t>(spec.dim);
}

// Appends both, and compares every byte of pools and scales.
void ExpectCodes(BackendKind kind, DType row_dtype, const CodesSpec& key_spec,
                 const CodesSpec& value_spec,
                 const std::vector<float>& key_values,
                 const std::vector<float>& value_values) {
  const Tensor key(kind, row_dtype, key_spec, key_values);
  const Tensor value(kind, row_dtype, value_spec, value_values);
  GuardedBuffer slots(kind, key_spec.slots.size() * sizeof(int64_t));
  slots.UploadValues(key_spec.slots);
  Backend& backend = *SharedBackend(kind).value();
  const absl::Status status = backend.AppendKv(
      {.num_tokens = static_cast<int>(key_spec.slots.size()),
       .num_kv_heads = key_spec.num_kv_heads,
       .head_dim = key_spec.dim,
       .value_dim = value_spec.dim,
       .block_size = key_spec.block_size,
       .num_blocks = key_spec.num_blocks,
       .dtype = key_spec.code,
       .row_dtype = row_dtype,
       .key_scale = key_spec.factor,
       .value_scale = value_spec.factor,
       .key_granularity = key_spec.granularity,
       .value_granularity = value_spec.granularity,
       .key = key.rows(),
       .value = value.rows(),
       .key_cache = key.pool(),
       .value_cache = value.pool(),
       .key_cache_strides = key.strides(),
       .value_cache_strides = value.strides(),
       .key_scales = key.scales(),
       .value_scales = value.scales(),
       .key_scale_strides = key.scale_strides(),
       .value_scale_strides = value.scale_strides(),
       .slot_mapping = static_cast<const int64_t*>(slots.data())},
      nullptr);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(backend.Synchronize(nullptr).ok());
  key.ExpectAppended();
  value.ExpectAppended();
}

// Magnitudes of many binades; outliers; a row of zeros, NaN and infinities.
std::vector<float> RandomValues(const CodesSpec& spec, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 2.0f);
  std::vector<float> values(NumValues(spec));
  for (float& value : values) {
    value = std::ldexp(normal(random), static_cast<int>(random() % 24) - 14);
    if (random() % 50 == 0) value *= 1000.0f;
  }
  const auto dim = static_cast<std::size_t>(spec.dim);
  std::fill_n(values.begin(), dim, 0.0f);
  values[values.size() - 1] = std::numeric_limits<float>::quiet_NaN();
  values[values.size() / 2] = std::numeric_limits<float>::infinity();
  values[values.size() / 3] = -std::numeric_limits<float>::infinity();
  return values;
}

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
      SCOPED_TRACE(::testing::Message() << NameOf(code) << " " << factor);
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
        values.push_back(factor > 1.0f && dtype() == DType::kF16 &&
                                 std::fabs(value) > 30000.0f
                             ? 0.0f
                             : value * factor);
      }
      ExpectCodes(kind(), dtype(), spec, spec, values, values);
    }
  }
}

// Halfway between all neighbours, and a float to either side of it.
TEST_P(AppendCodesTest, TiesGoToEvenAndWhatIsTooLargeToTheLargest) {
  for (DType code : kEightBits) {
    SCOPED_TRACE(NameOf(code));
    std::vector<float> values;
    for (int i = 0; i < 127; ++i) {
      const double below = DecodeBits(code, static_cast<uint16_t>(i));
      const double above = DecodeBits(code, static_cast<uint16_t>(i + 1));
      if (!std::isfinite(above)) continue;
      const auto middle = static_cast<float>((below + above) / 2);
      for (const float value : {middle, std::nextafter(middle, 0.0f),
                                std::nextafter(middle, 1e9f)}) {
        values.push_back(value);
        values.push_back(-value);
      }
    }
    const auto largest = static_cast<float>(LargestCode(code));
    for (const float factor : {1.0f, 1.01f, 1.04f, 1.1f, 2.0f, 1e4f, 1e30f}) {
      values.push_back(largest * factor);
      values.push_back(-largest * factor);
    }
    const CodesSpec spec{.code = code,
                         .dim = static_cast<int>(values.size()),
                         .slots = {9},
                         .num_kv_heads = 1};
    ExpectCodes(kind(), dtype(), spec, spec, values, values);
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
