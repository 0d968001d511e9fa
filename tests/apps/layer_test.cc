#include "apps/layer.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/core/dtype.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged {
namespace {

using ::paged::testing::SmallLayer;
using ::paged::testing::TensorFileBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorFile Parse(const TensorFileBuilder& builder) {
  auto file = TensorFile::Parse(builder.Build());
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

std::string ErrorOf(const TensorFileBuilder& builder) {
  return std::string(
      FindLayers(Parse(builder), std::nullopt).status().message());
}

std::string Zeros(int count) {
  return std::string(static_cast<std::size_t>(count), '\0');
}

// One sequence of two tokens whose tensors have these shapes of F16.
TensorFileBuilder Shapes(const std::vector<int64_t>& query,
                         const std::vector<int64_t>& key,
                         const std::vector<int64_t>& value) {
  TensorFileBuilder builder;
  builder.Add("context_lens", "I32", {1}, std::vector<int32_t>{2});
  const std::vector<int64_t>* const shapes[] = {&query, &key, &value};
  const char* const names[] = {"layer.query", "layer.key", "layer.value"};
  for (int i = 0; i < 3; ++i) {
    int64_t bytes = 2;
    for (int64_t extent : *shapes[i]) bytes *= extent;
    builder.Add(names[i], "F16", *shapes[i], Zeros(static_cast<int>(bytes)));
  }
  return builder;
}

TEST(LayerTest, SortsLayersByNumberAndNamesThePlainOne) {
  TensorFileBuilder builder = SmallLayer({.layer = "layer"});
  const TensorFile small = Parse(builder);
  for (const char* name : {"layer10", "layer9", "layer123456789012345678901"}) {
    for (const char* field : {".query", ".key", ".value"}) {
      const TensorView* view = small.Find(std::string("layer") + field);
      builder.Add(std::string(name) + field, view->dtype, view->shape,
                  std::string(view->data, view->num_bytes));
    }
  }
  builder.Add("layers.query", "F32", {1}, Zeros(4));
  builder.Add("layer7.other", "F32", {1}, Zeros(4));
  const auto layers = FindLayers(Parse(builder), std::nullopt);
  ASSERT_TRUE(layers.ok()) << layers.status();
  std::vector<std::string> names;
  for (const Layer& layer : *layers) names.push_back(layer.name);
  EXPECT_THAT(names, ElementsAre("layer0", "layer9", "layer10",
                                 "layer123456789012345678901"));
}

TEST(LayerTest, FindsThePlainLayerByBothNames) {
  const TensorFile file = Parse(SmallLayer({.layer = "layer"}));
  EXPECT_TRUE(FindLayers(file, "layer").ok());
  EXPECT_TRUE(FindLayers(file, "layer0").ok());
  EXPECT_EQ(FindLayers(file, "layer1").status().code(),
            absl::StatusCode::kNotFound);
}

TEST(LayerTest, AcceptsTokensWithoutSequencesAndViceVersa) {
  EXPECT_EQ(ErrorOf(SmallLayer({.context_lens = {}})), "");
  EXPECT_EQ(ErrorOf(SmallLayer({.context_lens = {0, 0}})), "");
  EXPECT_EQ(ErrorOf(SmallLayer({.context_lens = {0, 3, 0}})), "");
}

TEST(LayerTest, NamesWhatIsWrong) {
  EXPECT_THAT(ErrorOf(TensorFileBuilder()), HasSubstr("it has none"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2}, {2, 1, 4}, {2, 1, 4})),
              HasSubstr("layer.query must have 3 dimensions"));
  EXPECT_THAT(ErrorOf(Shapes({2, 2, 4}, {2, 1, 4}, {2, 1, 4})),
              HasSubstr("layer.query must have shape [1, 2, 4]"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 4}, {3, 1, 4}, {2, 1, 4})),
              HasSubstr("layer.key must have shape [2, 1, 4]"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 4}, {2, 1, 8}, {2, 1, 4})),
              HasSubstr("layer.key must have shape [2, 1, 4]"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 4}, {2, 1, 4}, {2, 2, 4})),
              HasSubstr("layer.value must have shape [2, 1, 4]"));
  EXPECT_THAT(ErrorOf(Shapes({1, 3, 4}, {2, 2, 4}, {2, 2, 4})),
              HasSubstr("divides the 3"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 4}, {2, 0, 4}, {2, 0, 4})),
              HasSubstr("divides the 2"));
  EXPECT_THAT(ErrorOf(Shapes({1, 0, 4}, {2, 1, 4}, {2, 1, 4})),
              HasSubstr("layer.query must have heads and dims"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 0}, {2, 1, 0}, {2, 1, 4})),
              HasSubstr("layer.query must have heads and dims"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 4}, {2, 1, 4}, {2, 1, 5})),
              HasSubstr("layer.value must have query's 4 dims"));
  EXPECT_THAT(ErrorOf(Shapes({1, 1, 4097}, {2, 1, 4097}, {2, 1, 4097})),
              HasSubstr("layer.query must have at most 4096 dims"));
  EXPECT_EQ(ErrorOf(Shapes({1, 32, 4096}, {2, 1, 4096}, {2, 1, 4096})), "");
  EXPECT_THAT(
      ErrorOf(Shapes({1, 33, 4096}, {2, 1, 4096}, {2, 1, 4096})),
      HasSubstr("layer.query must have at most 131072 elements per token"));
  EXPECT_THAT(ErrorOf(Shapes({1, 2, 4}, {2, 4294967296, 0}, {2, 1, 4})),
              HasSubstr("layer.key must have 3 dimensions below 2^31"));
}

TEST(LayerTest, RefusesLengthsThatAreNone) {
  EXPECT_THAT(ErrorOf(TensorFileBuilder().Add("layer.query", "F16", {0}, "")),
              HasSubstr("must have a tensor context_lens"));
  EXPECT_THAT(ErrorOf(TensorFileBuilder()
                          .Add("context_lens", "F32", {1}, Zeros(4))
                          .Add("layer.query", "F16", {0}, "")),
              HasSubstr("context_lens must be I32"));
  EXPECT_THAT(
      ErrorOf(TensorFileBuilder()
                  .Add("context_lens", "I32", {2}, std::vector<int32_t>{5, -1})
                  .Add("layer.query", "F16", {0}, "")),
      HasSubstr("lengths of at least 0; got -1"));
}

TEST(LayerTest, RefusesAbsentTensorsAndMixedTypes) {
  const std::vector<int32_t> lens = {1};
  TensorFileBuilder builder;
  builder.Add("context_lens", "I32", {1}, lens)
      .Add("layer3.query", "F16", {1, 1, 2}, Zeros(4));
  EXPECT_THAT(ErrorOf(builder), HasSubstr("must have a tensor layer3.key"));
  builder.Add("layer3.key", "BF16", {1, 1, 2}, Zeros(4))
      .Add("layer3.value", "F16", {1, 1, 2}, Zeros(4));
  EXPECT_THAT(ErrorOf(builder),
              HasSubstr("layer3.key must have query's dtype F16; got BF16"));
  TensorFileBuilder integers;
  integers.Add("context_lens", "I32", {1}, lens);
  for (const char* name : {"layer3.query", "layer3.key", "layer3.value"}) {
    integers.Add(name, "I16", {1, 1, 2}, Zeros(4));
  }
  EXPECT_THAT(ErrorOf(integers), HasSubstr("F16, BF16 or F32; got I16"));
  EXPECT_THAT(
      ErrorOf(SmallLayer({}).Add("layer0.expected", "F64", {1}, Zeros(8))),
      HasSubstr("layer0.expected must have shape [3, 4, 8]"));
  EXPECT_THAT(
      ErrorOf(SmallLayer({}).Add("layer0.expected_lse", "F16", {1}, Zeros(2))),
      HasSubstr("layer0.expected_lse must be F64 or F32; got F16"));
}

TEST(LayerTest, ConvertsEveryHalfAsTheKernelsDo) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto stored = static_cast<uint16_t>(bits);
    const double half = ToDoubles(DType::kF16, &stored, 1)[0];
    const double bfloat = ToDoubles(DType::kBF16, &stored, 1)[0];
    const float right_half = ToFloat(Half{stored});
    const float right_bfloat = ToFloat(BFloat16{stored});
    EXPECT_TRUE(std::isnan(right_half) ? std::isnan(half) : half == right_half);
    EXPECT_TRUE(std::isnan(right_bfloat) ? std::isnan(bfloat)
                                         : bfloat == right_bfloat);
  }
}

}  // namespace
}  // namespace paged
