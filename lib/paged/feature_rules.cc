#include "paged/internal/feature_rules.h"

#include "absl/strings/str_cat.h"

namespace paged::internal {
namespace {

constexpr Feature kFeatures[] = {
    {.field = "value_dim",
     .meaning = "values of a dimension of their own",
     .is_used = [](const DecodeShape& s) { return s.value_dim != s.head_dim; },
     .needs_general = false,
     .in_thrust = true},
    {.field = "query_dtype",
     .meaning = "query and output of a dtype of their own",
     .is_used =
         [](const DecodeShape& s) { return s.query_dtype != s.kv_dtype; },
     .needs_general = false,
     .in_thrust = false},
    {.field = "key_scale",
     .meaning = "scale of all keys",
     .is_used = [](const DecodeShape& s) { return s.key_scale != 1.0f; },
     .needs_general = false,
     .in_thrust = false},
    {.field = "value_scale",
     .meaning = "scale of all values",
     .is_used = [](const DecodeShape& s) { return s.value_scale != 1.0f; },
     .needs_general = false,
     .in_thrust = false},
    {.field = "key_scales",
     .meaning = "scales of keys on the device: one, per kv head, per token",
     .is_used =
         [](const DecodeShape& s) {
           return s.key_scales != ScaleGranularity::kNone;
         },
     .needs_general = false,
     .in_thrust = false},
    {.field = "value_scales",
     .meaning = "scales of values on the device: one, per kv head, per token",
     .is_used =
         [](const DecodeShape& s) {
           return s.value_scales != ScaleGranularity::kNone;
         },
     .needs_general = false,
     .in_thrust = false},
    {.field = "q_len",
     .meaning = "several query tokens",
     .is_used = [](const DecodeShape& s) { return s.q_len != 1; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "has_query_offsets",
     .meaning = "ragged query tokens",
     .is_used = [](const DecodeShape& s) { return s.has_query_offsets; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "has_tree_masks",
     .meaning = "masks of speculative trees",
     .is_used = [](const DecodeShape& s) { return s.has_tree_masks; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "window",
     .meaning = "sliding window",
     .is_used = [](const DecodeShape& s) { return s.window != 0; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "attention_chunk",
     .meaning = "chunked attention",
     .is_used = [](const DecodeShape& s) { return s.attention_chunk != 0; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "sink_tokens",
     .meaning = "first tokens always visible",
     .is_used = [](const DecodeShape& s) { return s.sink_tokens != 0; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "soft_cap",
     .meaning = "logit soft cap",
     .is_used = [](const DecodeShape& s) { return s.soft_cap != 0.0f; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "has_alibi",
     .meaning = "ALiBi slopes",
     .is_used = [](const DecodeShape& s) { return s.has_alibi; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "has_bias",
     .meaning = "additive bias by position",
     .is_used = [](const DecodeShape& s) { return s.has_bias; },
     .needs_general = true,
     .in_thrust = false},
    {.field = "has_sink_logits",
     .meaning = "learned sink per q head",
     .is_used = [](const DecodeShape& s) { return s.has_sink_logits; },
     .needs_general = true,
     .in_thrust = false},
};

}  // namespace

absl::Span<const Feature> AllFeatures() { return kFeatures; }

bool NeedsGeneral(const DecodeShape& shape) {
  if (shape.key_scales == ScaleGranularity::kToken ||
      shape.value_scales == ScaleGranularity::kToken) {
    return true;
  }
  for (const Feature& feature : kFeatures) {
    if (feature.needs_general && feature.is_used(shape)) return true;
  }
  return false;
}

absl::Status CheckFeatures(const DecodeShape& shape, Variant variant) {
  if (variant != Variant::kThrust) return absl::OkStatus();
  for (const Feature& feature : kFeatures) {
    if (!feature.is_used(shape) || feature.in_thrust) continue;
    return absl::UnimplementedError(
        absl::StrCat(feature.field,
                     " is not built for variant thrust: it has plain "
                     "attention alone"));
  }
  return absl::OkStatus();
}

}  // namespace paged::internal
