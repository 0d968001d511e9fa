#include "paged/internal/feature_rules.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "paged/decode.h"
#include "paged/internal/cost_model.h"
#include "tests/lib/shapes.h"

namespace paged::testing {
namespace {

using internal::AllFeatures;
using internal::ExpectedTokensRead;
using internal::Feature;

// A shape that uses the feature and no other.
DecodeShape ShapeWith(const std::string& field) {
  DecodeShape shape = ShapeOf(
      {.num_seqs = 4, .num_kv_heads = 2, .group = 4, .context_len = 5000});
  if (field == "value_dim") shape.value_dim = 64;
  if (field == "query_dtype") shape.query_dtype = DType::kF32;
  if (field == "key_scale") shape.key_scale = 0.5f;
  if (field == "value_scale") shape.value_scale = 2.0f;
  if (field == "key_scales") shape.key_scales = ScaleGranularity::kHead;
  if (field == "value_scales") shape.value_scales = ScaleGranularity::kTensor;
  if (field == "q_len") shape.q_len = 3;
  if (field == "has_query_offsets") shape.has_query_offsets = true;
  if (field == "has_tree_masks") shape.has_tree_masks = true;
  if (field == "window") shape.window = 100;
  if (field == "attention_chunk") shape.attention_chunk = 100;
  if (field == "sink_tokens") shape.sink_tokens = 4;
  if (field == "soft_cap") shape.soft_cap = 30.0f;
  if (field == "has_alibi") shape.has_alibi = true;
  if (field == "has_bias") shape.has_bias = true;
  if (field == "has_sink_logits") shape.has_sink_logits = true;
  return shape;
}

DecodeOptions Thrust() { return {.variant = Variant::kThrust}; }

// BR-058, 118: what is accepted is never dropped. Each feature runs on the CPU,
// and elsewhere runs or is refused by name.
TEST(FeatureRulesTest, EveryFeatureIsServedOrRefusedByName) {
  for (const Feature& feature : AllFeatures()) {
    SCOPED_TRACE(feature.field);
    const DecodeShape shape =
        ValidateShape(ShapeWith(feature.field)).value().shape();
    for (const Feature& other : AllFeatures()) {
      ASSERT_EQ(other.is_used(shape), other.field == feature.field);
    }
    const DecodeProblem problem = ValidateShape(shape).value();
    const DeviceProfile cpu = CpuProfile(2);
    const DecodePlan plan = MakePlan(problem, cpu, {}).value();
    EXPECT_EQ(plan.instance.is_general, feature.needs_general);

    const absl::StatusOr<DecodePlan> cuda =
        MakePlan(problem, H200Profile(), {});
    ASSERT_TRUE(cuda.ok()) << cuda.status();
    EXPECT_TRUE(cuda->instance.is_general || !feature.needs_general);
    const absl::Status thrust = MakePlan(problem, cpu, Thrust()).status();
    EXPECT_EQ(thrust.ok(), feature.in_thrust) << thrust;
    if (!thrust.ok()) {
      EXPECT_EQ(thrust.code(), absl::StatusCode::kUnimplemented);
      EXPECT_EQ(thrust.message(),
                absl::StrCat(feature.field,
                             " is not built for variant thrust: "
                             "it has plain attention alone"));
    }
  }
}

TEST(FeatureRulesTest, PlainShapesRunPlainKernels) {
  const DecodeProblem problem = ValidateShape(ShapeWith("")).value();
  EXPECT_FALSE(
      MakePlan(problem, CpuProfile(2), {}).value().instance.is_general);
  EXPECT_FALSE(
      MakePlan(problem, H200Profile(), {}).value().instance.is_general);
}

// BR-074: a plan for a window is one for as many tokens, whatever the length.
TEST(FeatureRulesTest, PlansCountTheTokensThatAreRead) {
  DecodeShape shape = ShapeWith("");
  shape.expected_context_len = 4000;
  EXPECT_EQ(ExpectedTokensRead(shape), 4000);
  shape.window = 300;
  EXPECT_EQ(ExpectedTokensRead(shape), 300);
  shape.sink_tokens = 4;
  EXPECT_EQ(ExpectedTokensRead(shape), 304);
  shape.attention_chunk = 200;
  EXPECT_EQ(ExpectedTokensRead(shape), 204);
  shape.window = shape.attention_chunk = 1 << 30;
  EXPECT_EQ(ExpectedTokensRead(shape), 4000);

  const DecodeProblem windowed = ValidateShape(ShapeWith("window")).value();
  const DecodePlan plan = MakePlan(windowed, CpuProfile(2), {}).value();
  EXPECT_EQ(plan.kv_bytes, int64_t{4} * 100 * 2 * 2 * 128 * 2);
  DecodeShape longer = ShapeWith("window");
  longer.max_context_len = 500'000;
  longer.max_blocks_per_seq = 500'000 / 16;
  longer.num_blocks = 200'000;
  const DecodePlan same =
      MakePlan(ValidateShape(longer).value(), CpuProfile(2), {}).value();
  EXPECT_EQ(same.num_splits, plan.num_splits);
  EXPECT_EQ(same.predicted_us, plan.predicted_us);
}

TEST(FeatureRulesTest, TensorsAreThereIfAndOnlyIfTheShapeSaysSo) {
  const float tensor[1] = {};
  const int32_t ints[1] = {};
  char output[1];
  const auto args_of = [&](const DecodeShape& shape) {
    return DecodeArgs{.shape = shape,
                      .query = tensor,
                      .key_cache = tensor,
                      .value_cache = tensor,
                      .block_tables = ints,
                      .context_lens = ints,
                      .output = output};
  };
  const struct {
    const char* flag;
    const char* tensor;
    const float* DecodeArgs::*field;
  } tensors[] = {{"has_alibi", "alibi_slopes", &DecodeArgs::alibi_slopes},
                 {"has_bias", "bias", &DecodeArgs::bias},
                 {"has_sink_logits", "sink_logits", &DecodeArgs::sink_logits}};
  for (const auto& [flag, name, field] : tensors) {
    DecodeArgs args = args_of(ShapeWith(flag));
    EXPECT_EQ(Validate(args).status().message(),
              absl::StrCat(name, " must not be null"));
    args.*field = tensor;
    EXPECT_TRUE(Validate(args).ok());
    DecodeArgs plain = args_of(ShapeWith(""));
    EXPECT_TRUE(Validate(plain).ok());
    plain.*field = tensor;
    EXPECT_EQ(Validate(plain).status().message(),
              absl::StrCat(name, " must be null without ", flag));
  }
}

}  // namespace
}  // namespace paged::testing
