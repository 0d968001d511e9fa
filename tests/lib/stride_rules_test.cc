// Which layouts ValidateShape takes.
#include <gtest/gtest.h>

#include <string>

#include "paged/validate.h"
#include "tests/lib/shapes.h"

namespace paged {
namespace {

// 2 sequences, 8 q heads over 4 kv heads of 128 dims; 15 blocks of 16.
DecodeShape LegalShape() {
  return testing::ShapeOf(
      {.num_seqs = 2, .num_kv_heads = 4, .group = 2, .context_len = 100});
}

std::string ErrorOf(const DecodeShape& shape) {
  const absl::Status status = ValidateShape(shape).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(StrideRulesTest, InterleavedPaddedAndHeadMajorPoolsAreLegal) {
  DecodeShape shape = LegalShape();
  // Keys and values of a token side by side.
  shape.key = shape.value = {16 * 4 * 256, 4 * 256, 256};
  EXPECT_TRUE(ValidateShape(shape).ok());
  // Rows padded to 136 elements.
  shape.key = shape.value = {16 * 4 * 136, 4 * 136, 136};
  EXPECT_TRUE(ValidateShape(shape).ok());
  // [block, head, slot, dim].
  shape.key = shape.value = {16 * 4 * 128, 128, 16 * 128};
  EXPECT_TRUE(ValidateShape(shape).ok());
  // A pool that holds 61 layers between a block and the next.
  shape.key = shape.value = {61 * 16 * 4 * 128, 4 * 128, 128};
  EXPECT_TRUE(ValidateShape(shape).ok());
}

TEST(StrideRulesTest, StridesThatMakeHeadsOverlapAreRefused) {
  DecodeShape shape = LegalShape();
  shape.key = {16 * 4 * 128, 4 * 128, 127};
  EXPECT_EQ(ErrorOf(shape),
            "key.head_stride must be at least 128, or all strides 0 for a "
            "dense tensor; got 127");
  shape = LegalShape();
  shape.value = {16 * 4 * 128, 0, 128};
  EXPECT_EQ(ErrorOf(shape),
            "value.slot_stride must be at least 128, or all strides 0 for a "
            "dense tensor; got 0");
  shape = LegalShape();
  shape.key = {-1, 4 * 128, 128};
  EXPECT_EQ(ErrorOf(shape),
            "key.block_stride must be at least 128, or all strides 0 for a "
            "dense tensor; got -1");
  shape = LegalShape();
  shape.query = {1024, 1024, 64};
  EXPECT_EQ(ErrorOf(shape),
            "query.head_stride must be at least 128, or all strides 0 for a "
            "dense tensor; got 64");
}

TEST(StrideRulesTest, TheStrideOfASingleVectorMayBeAnythingButNegative) {
  DecodeShape shape = testing::ShapeOf(
      {.num_seqs = 2, .num_kv_heads = 1, .group = 1, .context_len = 100});
  shape.key = {16 * 128, 128, 0};
  EXPECT_TRUE(ValidateShape(shape).ok());
  shape.key = {16 * 128, 128, -128};
  EXPECT_EQ(ErrorOf(shape),
            "key.head_stride must be at least 0, or all strides 0 for a dense "
            "tensor; got -128");
}

TEST(StrideRulesTest, OutputsMayNotOverlapInAnyOrderOfTheirAxes) {
  DecodeShape shape = LegalShape();
  // [head, seq, dim] is legal, ...
  shape.output = {.seq_stride = 128, .token_stride = 0, .head_stride = 256};
  EXPECT_TRUE(ValidateShape(shape).ok());
  // ... and not when a head's two sequences reach into the next head.
  shape.output.head_stride = 255;
  EXPECT_EQ(ErrorOf(shape),
            "output.head_stride must be at least 256, so that no two vectors "
            "overlap; got 255");
  shape.output = {.seq_stride = 1023, .token_stride = 1024, .head_stride = 128};
  EXPECT_EQ(ErrorOf(shape),
            "output.seq_stride must be at least 1024, so that no two vectors "
            "overlap; got 1023");
}

TEST(StrideRulesTest, ReadingMayOverlap) {
  DecodeShape shape = LegalShape();
  shape.query = {.seq_stride = 128, .token_stride = 128, .head_stride = 128};
  EXPECT_TRUE(ValidateShape(shape).ok());
}

TEST(StrideRulesTest, PoolsBeyond64BitsAreRefused) {
  DecodeShape shape = LegalShape();
  shape.key = {int64_t{1} << 62, 4 * 128, 128};
  EXPECT_NE(ErrorOf(shape).find("key must span at most 2^60 elements"),
            std::string::npos);
  // One block past 2^31 elements is what big pools are made of.
  shape = LegalShape();
  shape.key = shape.value = {(int64_t{1} << 31) + 8, 4 * 128, 128};
  EXPECT_TRUE(ValidateShape(shape).ok());
}

}  // namespace
}  // namespace paged
