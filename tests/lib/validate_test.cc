#include "paged/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "tests/lib/shapes.h"

namespace paged {
namespace {

using Edit = std::function<void(DecodeShape&)>;

// 2 sequences, 8 q heads over 4 kv heads, 100 tokens in blocks of 16.
DecodeShape LegalShape() {
  return testing::ShapeOf(
      {.num_seqs = 2, .num_kv_heads = 4, .group = 2, .context_len = 100});
}

struct Rule {
  const char* name;
  Edit edit;
  absl::StatusCode code;
  const char* message;
};

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class ShapeRuleTest : public ::testing::TestWithParam<Rule> {};

// BR-067, 041, 127.
TEST_P(ShapeRuleTest, BrokenIsRefusedByName) {
  DecodeShape shape = LegalShape();
  ASSERT_TRUE(ValidateShape(shape).ok());
  GetParam().edit(shape);
  const absl::Status status = ValidateShape(shape).status();
  EXPECT_EQ(status.code(), GetParam().code);
  EXPECT_EQ(status.message(), GetParam().message);
}

const Rule kRules[] = {
    {"NumSeqs", [](auto& s) { s.num_seqs = -1; }, kInvalid,
     "num_seqs must be at least 0; got -1"},
    {"QLen", [](auto& s) { s.q_len = 0; }, kInvalid,
     "q_len must be 1 to 32; got 0"},
    {"QLenTooLarge", [](auto& s) { s.q_len = 33; }, kInvalid,
     "q_len must be 1 to 32; got 33"},
    {"TreeWithWindow",
     [](auto& s) {
       s.has_tree_masks = true;
       s.window = 7;
     },
     kInvalid,
     "has_tree_masks must be false with window, attention_chunk or has_alibi; "
     "got 7, 0 and false"},
    {"RaggedSequenceStride",
     [](auto& s) {
       s.has_query_offsets = true;
       s.query = {1024, 1024, 128};
     },
     kInvalid, "query.seq_stride must be 0 with has_query_offsets; got 1024"},
    {"NumQHeads", [](auto& s) { s.num_q_heads = 0; }, kInvalid,
     "num_q_heads must be at least 1; got 0"},
    {"NumKvHeads", [](auto& s) { s.num_kv_heads = 0; }, kInvalid,
     "num_kv_heads must be at least 1; got 0"},
    {"Group", [](auto& s) { s.num_q_heads = 10; }, kInvalid,
     "num_q_heads must be a multiple of num_kv_heads; got 10 and 4"},
    {"FewerQHeads", [](auto& s) { s.num_q_heads = 2; }, kInvalid,
     "num_q_heads must be a multiple of num_kv_heads; got 2 and 4"},
    {"HeadDim", [](auto& s) { s.head_dim = 0; }, kInvalid,
     "head_dim must be 1 to 4096; got 0"},
    {"HeadDimTooLarge", [](auto& s) { s.head_dim = 4097; }, kInvalid,
     "head_dim must be 1 to 4096; got 4097"},
    {"ValueDim", [](auto& s) { s.value_dim = -1; }, kInvalid,
     "value_dim must be 0 to 4096; got -1"},
    {"BlockSize", [](auto& s) { s.block_size = 0; }, kInvalid,
     "block_size must be 1 to 1024; got 0"},
    {"BlockSizeTooLarge", [](auto& s) { s.block_size = 1025; }, kInvalid,
     "block_size must be 1 to 1024; got 1025"},
    {"NumBlocks", [](auto& s) { s.num_blocks = -1; }, kInvalid,
     "num_blocks must be 0 to 2147483647; got -1"},
    {"NumBlocksPastInt32", [](auto& s) { s.num_blocks = 2147483648; }, kInvalid,
     "num_blocks must be 0 to 2147483647; got 2147483648"},
    {"MaxBlocksPerSeq", [](auto& s) { s.max_blocks_per_seq = -1; }, kInvalid,
     "max_blocks_per_seq must be at least 0; got -1"},
    {"MaxContextLen", [](auto& s) { s.max_context_len = -1; }, kInvalid,
     "max_context_len must be at least 0; got -1"},
    {"ContextPastTheTable", [](auto& s) { s.max_context_len = 113; }, kInvalid,
     "max_context_len must be at most max_blocks_per_seq times block_size; got "
     "113 with 7 and 16"},
    {"NoBlocks", [](auto& s) { s.num_blocks = 0; }, kInvalid,
     "num_blocks must be at least 1 for a max_context_len above 0; got 0 and "
     "100"},
    {"ExpectedContext", [](auto& s) { s.expected_context_len = 101; }, kInvalid,
     "expected_context_len must be 0 to 100; got 101"},
    {"ExpectedContextNegative", [](auto& s) { s.expected_context_len = -1; },
     kInvalid, "expected_context_len must be 0 to 100; got -1"},
    {"TableStride", [](auto& s) { s.block_table_stride = 6; }, kInvalid,
     "block_table_stride must be at least 7; got 6"},
    {"Window", [](auto& s) { s.window = -1; }, kInvalid,
     "window must be at least 0; got -1"},
    {"AttentionChunk", [](auto& s) { s.attention_chunk = -2; }, kInvalid,
     "attention_chunk must be at least 0; got -2"},
    {"SinkTokens", [](auto& s) { s.sink_tokens = -3; }, kInvalid,
     "sink_tokens must be at least 0; got -3"},
    {"SoftCap", [](auto& s) { s.soft_cap = -1.0f; }, kInvalid,
     "soft_cap must be finite and at least 0 (0 means none); got -1"},
    {"BiasStrideWithoutBias", [](auto& s) { s.bias_stride = 100; }, kInvalid,
     "bias_stride must be 0 without has_bias; got 100"},
    {"BiasStride",
     [](auto& s) {
       s.has_bias = true;
       s.bias_stride = 99;
     },
     kInvalid, "bias_stride must be 100 to 576460752303423488; got 99"},
    {"ScaleNegative", [](auto& s) { s.scale = -0.5f; }, kInvalid,
     "scale must be finite and at least 0 (0 means 1 / sqrt(head_dim)); got "
     "-0.5"},
    {"ScaleInfinite", [](auto& s) { s.scale = INFINITY; }, kInvalid,
     "scale must be finite and at least 0 (0 means 1 / sqrt(head_dim)); got "
     "inf"},
    {"ScaleNan",
     [](auto& s) { s.scale = std::numeric_limits<float>::quiet_NaN(); },
     kInvalid,
     "scale must be finite and at least 0 (0 means 1 / sqrt(head_dim)); got "
     "nan"},
    {"KvDType", [](auto& s) { s.kv_dtype = static_cast<DType>(9); }, kInvalid,
     "kv_dtype must be a DType of dtype.h; got DType(9)"},
    {"QueryDType", [](auto& s) { s.query_dtype = static_cast<DType>(9); },
     kInvalid, "query_dtype must be a DType of dtype.h; got DType(9)"},
    {"QueryOf8Bits", [](auto& s) { s.query_dtype = DType::kFp8E4M3; }, kInvalid,
     "query_dtype must be fp16, bf16 or fp32; got fp8_e4m3"},
    {"KeyScale", [](auto& s) { s.key_scale = 0.0f; }, kInvalid,
     "key_scale must be finite and above 0; got 0"},
    {"ValueScale", [](auto& s) { s.value_scale = -INFINITY; }, kInvalid,
     "value_scale must be finite and above 0; got -inf"},
    {"KeyScaleNan",
     [](auto& s) { s.key_scale = std::numeric_limits<float>::quiet_NaN(); },
     kInvalid, "key_scale must be finite and above 0; got nan"},
    {"ScaleGranularity",
     [](auto& s) { s.value_scales = static_cast<ScaleGranularity>(4); },
     kInvalid, "value_scales must be a ScaleGranularity; got 4"},
    {"ScaleStrides",
     [](auto& s) {
       s.key_scale_strides = {8, 4, 1};
     },
     kInvalid,
     "key_scale_strides must be 0 but for key_scales of each token; got "
     "block_stride 8"},

};

INSTANTIATE_TEST_SUITE_P(Rules, ShapeRuleTest, ::testing::ValuesIn(kRules),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST(ValidateShapeTest, FillsInTheDefaults) {
  const DecodeShape s = ValidateShape(LegalShape())->shape();
  EXPECT_EQ(s.value_dim, 128);
  EXPECT_EQ(s.expected_context_len, 100);
  EXPECT_FLOAT_EQ(s.scale, 0.08838834764f);
  EXPECT_EQ(s.block_table_stride, 7);
  EXPECT_EQ(s.query, (RowStrides{8 * 128, 8 * 128, 128}));
  EXPECT_EQ(s.output, s.query);
  EXPECT_EQ(s.key, (KvStrides{16 * 4 * 128, 4 * 128, 128}));
  EXPECT_EQ(s.value, s.key);
}

TEST(ValidateShapeTest, ValidatingAgainChangesNothing) {
  const DecodeShape once = ValidateShape(LegalShape())->shape();
  EXPECT_EQ(ValidateShape(once)->shape(), once);
}

TEST(ValidateShapeTest, AnEmptyBatchAndEmptyContextsAreLegal) {
  DecodeShape shape = LegalShape();
  shape.num_seqs = 0;
  EXPECT_TRUE(ValidateShape(shape).ok());
  shape = LegalShape();
  shape.max_context_len = 0;
  shape.max_blocks_per_seq = 0;
  shape.num_blocks = 0;
  EXPECT_TRUE(ValidateShape(shape).ok());
}

TEST(ValidateShapeTest, CapacitiesWhoseProductsOverflowAreRefused) {
  DecodeShape shape = LegalShape();
  shape.num_seqs = std::numeric_limits<int>::max();
  shape.max_blocks_per_seq = std::numeric_limits<int>::max();
  shape.max_context_len = std::numeric_limits<int>::max();
  EXPECT_EQ(ValidateShape(shape).status().code(), kInvalid);
}

TEST(ValidateShapeTest, TheTablesWidthIsMultipliedIn64Bits) {
  // 2^27 columns of 16 tokens are 2^31 tokens: more than an int holds.
  DecodeShape shape = LegalShape();
  shape.max_blocks_per_seq = 1 << 27;
  EXPECT_TRUE(ValidateShape(shape).ok());
}

DecodeArgs LegalArgs() {
  static char memory[64];
  DecodeArgs args{.shape = LegalShape()};
  args.query = memory;
  args.key_cache = memory;
  args.value_cache = memory;
  args.block_tables = reinterpret_cast<const int32_t*>(memory);
  args.context_lens = reinterpret_cast<const int32_t*>(memory);
  args.output = memory;
  return args;
}

TEST(ValidateTest, EveryPointerThatIsUsedMustBeThere) {
  ASSERT_TRUE(Validate(LegalArgs()).ok());
  const struct {
    const char* field;
    std::function<void(DecodeArgs&)> clear;
  } pointers[] = {
      {"query", [](auto& a) { a.query = nullptr; }},
      {"key_cache", [](auto& a) { a.key_cache = nullptr; }},
      {"value_cache", [](auto& a) { a.value_cache = nullptr; }},
      {"block_tables", [](auto& a) { a.block_tables = nullptr; }},
      {"context_lens", [](auto& a) { a.context_lens = nullptr; }},
      {"output", [](auto& a) { a.output = nullptr; }},
  };
  for (const auto& [field, clear] : pointers) {
    DecodeArgs args = LegalArgs();
    clear(args);
    const absl::Status status = Validate(args).status();
    EXPECT_EQ(status.code(), kInvalid);
    EXPECT_EQ(status.message(), std::string(field) + " must not be null");
  }
}

TEST(ValidateTest, AnEmptyBatchNeedsNoPointers) {
  DecodeArgs args{.shape = LegalShape()};
  args.shape.num_seqs = 0;
  EXPECT_TRUE(Validate(args).ok());
}

TEST(ValidateTest, EmptyContextsNeedNoCacheButWriteOutput) {
  DecodeArgs args = LegalArgs();
  args.shape.max_context_len = 0;
  args.key_cache = args.value_cache = nullptr;
  args.block_tables = nullptr;
  EXPECT_TRUE(Validate(args).ok());
  args.output = nullptr;
  EXPECT_FALSE(Validate(args).ok());
}

TEST(ValidateTest, ShapeErrorsComeBeforePointerErrors) {
  EXPECT_EQ(Validate({.shape = {.num_seqs = -1}}).status().message(),
            "num_seqs must be at least 0; got -1");
}

}  // namespace
}  // namespace paged
