// The rules of ValidateAppend, and its lowering to kernel parameters.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "paged/append_kv.h"
#include "paged/internal/lower.h"

namespace paged {
namespace {

template <typename T>
T* At(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

AppendKvArgs LegalArgs() {
  return {.num_tokens = 3,
          .num_kv_heads = 4,
          .head_dim = 64,
          .block_size = 16,
          .num_blocks = 5,
          .dtype = DType::kBF16,
          .key = At<void>(0x1000),
          .value = At<void>(0x2000),
          .key_strides = {},
          .value_strides = {},
          .key_cache = At<void>(0x3000),
          .value_cache = At<void>(0x4000),
          .key_cache_strides = {},
          .value_cache_strides = {},
          .slot_mapping = At<int64_t>(0x5000)};
}

TEST(AppendRulesTest, BrokenRulesAreRefusedByName) {
  ASSERT_TRUE(ValidateAppend(LegalArgs()).ok());
  const struct {
    std::function<void(AppendKvArgs&)> edit;
    const char* message;
  } rules[] = {
      {[](auto& a) { a.num_tokens = -1; },
       "num_tokens must be at least 0; got -1"},
      {[](auto& a) {
         a.num_tokens = 1 << 30;
         a.num_kv_heads = 2;
       },
       "num_tokens * num_kv_heads must be 0 to 2147483647; got 2147483648"},
      {[](auto& a) { a.num_kv_heads = 0; },
       "num_kv_heads must be at least 1; got 0"},
      {[](auto& a) { a.head_dim = 0; }, "head_dim must be 1 to 4096; got 0"},
      {[](auto& a) { a.value_dim = -2; },
       "value_dim must be 0 to 4096; got -2"},
      {[](auto& a) { a.block_size = 0; },
       "block_size must be 1 to 1024; got 0"},
      {[](auto& a) { a.num_blocks = -1; },
       "num_blocks must be 0 to 2147483647; got -1"},
      {[](auto& a) { a.dtype = static_cast<DType>(7); },
       "dtype must be a DType of dtype.h; got DType(7)"},
      {[](auto& a) { a.row_dtype = static_cast<DType>(9); },
       "row_dtype must be a DType of dtype.h; got DType(9)"},
      // Codes of 8 bits are converted to nothing, nor by scales.
      {[](auto& a) { a.row_dtype = DType::kFp8E4M3; },
       "row_dtype must be fp16, bf16 or fp32 for a key that is converted; got "
       "fp8_e4m3"},
      {[](auto& a) {
         a.dtype = DType::kInt8;
         a.value_scale = 0.5f;
       },
       "row_dtype must be fp16, bf16 or fp32 for a value that is converted; "
       "got int8"},
      {[](auto& a) { a.key_scale = 0.0f; },
       "key_scale must be finite and above 0; got 0"},
      {[](auto& a) { a.value_scale = -INFINITY; },
       "value_scale must be finite and above 0; got -inf"},
      {[](auto& a) { a.key_granularity = static_cast<ScaleGranularity>(4); },
       "key_granularity must be a ScaleGranularity; got 4"},
      {[](auto& a) { a.value_granularity = ScaleGranularity::kHead; },
       "value_scales must not be null"},
      {[](auto& a) { a.key_scales = At<float>(0x6000); },
       "key_scales must be null without key_granularity"},
      {[](auto& a) {
         a.key_granularity = ScaleGranularity::kHead;
         a.key_scales = At<float>(0x6000);
         a.key_scale_strides = {64, 4, 1};
       },
       "key_scale_strides must be 0 but for key_granularity of each token; got "
       "block_stride 64"},
      // Scales are written as slots are.
      {[](auto& a) {
         a.value_granularity = ScaleGranularity::kToken;
         a.value_scales = At<float>(0x6000);
         a.value_scale_strides = {16 * 4, 3, 1};
       },
       "value_scale_strides.slot_stride must be at least 4, so that no two "
       "vectors overlap; got 3"},
      {[](auto& a) { a.key = nullptr; }, "key must not be null"},
      {[](auto& a) { a.value = nullptr; }, "value must not be null"},
      {[](auto& a) { a.key_cache = nullptr; }, "key_cache must not be null"},
      {[](auto& a) { a.value_cache = nullptr; },
       "value_cache must not be null"},
      {[](auto& a) { a.slot_mapping = nullptr; },
       "slot_mapping must not be null"},
      {[](auto& a) {
         a.key_strides = {256, 63};
       },
       "key_strides.head_stride must be at least 64, or all strides 0 for a "
       "dense tensor; got 63"},
      // Slots that reach into one another would be written twice.
      {[](auto& a) {
         a.value_cache_strides = {16 * 256, 255, 64};
       },
       "value_cache_strides.slot_stride must be at least 256, so that no two "
       "vectors overlap; got 255"},
  };
  for (const auto& [edit, message] : rules) {
    AppendKvArgs args = LegalArgs();
    edit(args);
    const absl::Status status = ValidateAppend(args).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
}

TEST(AppendRulesTest, NoTokensNeedNoPointers) {
  EXPECT_TRUE(ValidateAppend({.num_kv_heads = 1, .head_dim = 8}).ok());
}

TEST(AppendRulesTest, AnEmptyPoolIsLegalButItsSlotsAreRead) {
  AppendKvArgs args = LegalArgs();
  args.num_blocks = 0;
  args.key_cache = args.value_cache = nullptr;
  EXPECT_TRUE(ValidateAppend(args).ok());
  args.slot_mapping = nullptr;
  EXPECT_FALSE(ValidateAppend(args).ok());
}

TEST(AppendRulesTest, LowersDefaultsStridesAndCounts) {
  AppendKvArgs args = LegalArgs();
  args.value_dim = 32;
  args.key_cache_strides = {16 * 512, 512, 128};
  const AppendParams p = internal::LowerAppend(ValidateAppend(args).value());
  EXPECT_EQ(p.key.rows, args.key);
  EXPECT_EQ(p.key.pool, args.key_cache);
  EXPECT_EQ(p.key.token_stride, 4 * 64);
  EXPECT_EQ(p.key.head_stride, 64);
  EXPECT_EQ(p.key.layout.slot_stride, 512);
  EXPECT_EQ(p.key.head_dim, 64);
  EXPECT_EQ(p.value.rows, args.value);
  EXPECT_EQ(p.value.pool, args.value_cache);
  EXPECT_EQ(p.value.token_stride, 4 * 32);
  EXPECT_EQ(p.value.layout.block_stride, 16 * 4 * 32);
  EXPECT_EQ(p.value.head_dim, 32);
  EXPECT_EQ(p.slot_mapping, args.slot_mapping);
  EXPECT_EQ(p.num_slots, 80);
  EXPECT_EQ(p.row_element, ElementKind::kBF16);
  EXPECT_EQ(p.pool_element, ElementKind::kBF16);
  EXPECT_FALSE(p.converts);
  EXPECT_EQ(p.block_size, 16);
  EXPECT_EQ(p.num_tokens, 3);
  EXPECT_EQ(p.num_kv_heads, 4);
}

TEST(AppendRulesTest, LowersScales) {
  AppendKvArgs args = LegalArgs();
  args.dtype = DType::kInt8;
  args.row_dtype = DType::kF16;
  args.key_scale = 0.5f;
  args.key_granularity = ScaleGranularity::kToken;
  args.value_granularity = ScaleGranularity::kHead;
  args.key_scales = At<float>(0x6000);
  args.value_scales = At<float>(0x7000);
  const AppendParams p = internal::LowerAppend(ValidateAppend(args).value());
  EXPECT_TRUE(p.converts);
  EXPECT_EQ(p.row_element, ElementKind::kF16);
  EXPECT_EQ(p.pool_element, ElementKind::kInt8);
  EXPECT_EQ(p.key.row_scales, args.key_scales);
  EXPECT_EQ(p.key.scales.factor, 0.5f);
  EXPECT_EQ(p.key.scales.block_stride, 16 * 4);
  EXPECT_EQ(p.key.scales.slot_stride, 4);
  EXPECT_EQ(p.key.scales.head_stride, 1);
  EXPECT_EQ(p.value.row_scales, nullptr);
  EXPECT_EQ(p.value.scales.data, args.value_scales);
  EXPECT_EQ(p.value.scales.head_stride, 1);
  EXPECT_EQ(p.value.scales.factor, 1.0f);
}

}  // namespace
}  // namespace paged
