#include "tests/lib/append_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/codes.h"
#include "tests/support/element.h"
#include "tests/support/guarded_buffer.h"

namespace paged::testing {
namespace {

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

}  // namespace

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

}  // namespace paged::testing
