#include "paged/internal/lower.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/baseline/thrust_decode.h"
#include "kernels/core/online_softmax.h"
#include "paged/internal/instance_classes.h"
#include "paged/internal/profile_range.h"
#include "paged/internal/run_checks.h"
#include "paged/internal/schedule.h"
#include "paged/internal/status_macros.h"
#include "paged/internal/validation.h"

namespace paged::internal {
namespace {

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment *
         kWorkspaceAlignment;
}

// The field of two shapes that differs first, for the error's text.
absl::string_view FirstDifference(const DecodeShape& a, const DecodeShape& b) {
  if (a.num_seqs != b.num_seqs) return "num_seqs";
  if (a.q_len != b.q_len) return "q_len";
  if (a.has_query_offsets != b.has_query_offsets) return "has_query_offsets";
  if (a.has_tree_masks != b.has_tree_masks) return "has_tree_masks";
  if (a.num_q_heads != b.num_q_heads) return "num_q_heads";
  if (a.num_kv_heads != b.num_kv_heads) return "num_kv_heads";
  if (a.head_dim != b.head_dim) return "head_dim";
  if (a.block_size != b.block_size) return "block_size";
  if (a.num_blocks != b.num_blocks) return "num_blocks";
  if (a.max_blocks_per_seq != b.max_blocks_per_seq) return "max_blocks_per_seq";
  if (a.max_context_len != b.max_context_len) return "max_context_len";
  if (a.value_dim != b.value_dim) return "value_dim";
  if (a.query_dtype != b.query_dtype) return "query_dtype";
  if (a.kv_dtype != b.kv_dtype) return "kv_dtype";
  if (a.key_scale != b.key_scale) return "key_scale";
  if (a.value_scale != b.value_scale) return "value_scale";
  if (a.key_scales != b.key_scales) return "key_scales";
  if (a.value_scales != b.value_scales) return "value_scales";
  if (a.window != b.window) return "window";
  if (a.attention_chunk != b.attention_chunk) return "attention_chunk";
  if (a.sink_tokens != b.sink_tokens) return "sink_tokens";
  if (a.scale != b.scale) return "scale";
  if (a.soft_cap != b.soft_cap) return "soft_cap";
  if (a.has_alibi != b.has_alibi) return "has_alibi";
  if (a.has_bias != b.has_bias) return "has_bias";
  if (a.has_sink_logits != b.has_sink_logits) return "has_sink_logits";
  return "a stride";
}

// What dense strides are made of: with the plan's, none of them overflows.
bool HasCountsOf(const DecodeShape& plan, const DecodeShape& s) {
  return s.q_len == plan.q_len && s.num_q_heads == plan.num_q_heads &&
         s.num_kv_heads == plan.num_kv_heads && s.head_dim == plan.head_dim &&
         s.block_size == plan.block_size &&
         (s.value_dim == 0 || s.value_dim == plan.value_dim);
}

// The arguments of a run of the plan. The plan's shape was validated, and one
// that equals it need not be again.
absl::Status CheckArgs(const DecodePlan& plan, const DecodeArgs& args) {
  // These guided the plan's choice, and mean nothing for the run.
  const auto as_run = [&plan](DecodeShape shape) {
    shape.expected_context_len = plan.shape.expected_context_len;
    shape.lengths = plan.shape.lengths;
    return shape;
  };
  if (HasCountsOf(plan.shape, args.shape) &&
      as_run(WithDefaults(args.shape)) == plan.shape) {
    return CheckPresence(args, plan.shape);
  }
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, Validate(args));
  return absl::FailedPreconditionError(absl::StrCat(
      "args.shape must be the shape that the plan was made for; ",
      FirstDifference(as_run(problem.shape()), plan.shape), " differs"));
}

}  // namespace

absl::Status CheckPointers(const DecodeArgs& args, DeviceKind kind) {
  if (kind == DeviceKind::kCpu) return absl::OkStatus();
  constexpr auto kWhole = static_cast<std::size_t>(kVectorBytes);
  const std::size_t cache_alignment =
      HasWholeVectors(args.shape) ? kWhole : kWhole / 2;
  const struct {
    const char* field;
    const void* pointer;
    std::size_t alignment;
  } pointers[] = {{"query", args.query, kWhole},
                  {"key_cache", args.key_cache, cache_alignment},
                  {"value_cache", args.value_cache, cache_alignment},
                  {"output", args.output, kWhole},
                  {"block_tables", args.block_tables, sizeof(int32_t)},
                  {"context_lens", args.context_lens, sizeof(int32_t)},
                  {"key_scales", args.key_scales, sizeof(float)},
                  {"value_scales", args.value_scales, sizeof(float)},
                  {"query_offsets", args.query_offsets, sizeof(int32_t)},
                  {"tree_masks", args.tree_masks, sizeof(uint32_t)},
                  {"alibi_slopes", args.alibi_slopes, sizeof(float)},
                  {"bias", args.bias, sizeof(float)},
                  {"sink_logits", args.sink_logits, sizeof(float)},
                  {"lse", args.lse, sizeof(float)}};
  for (const auto& [field, pointer, alignment] : pointers) {
    PAGED_RETURN_IF_ERROR(CheckAligned(field, pointer, alignment));
  }
  return absl::OkStatus();
}

ElementKind KindOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return ElementKind::kF16;
    case DType::kBF16:
      return ElementKind::kBF16;
    case DType::kFp8E4M3:
      return ElementKind::kE4M3;
    case DType::kFp8E5M2:
      return ElementKind::kE5M2;
    case DType::kInt8:
      return ElementKind::kInt8;
    case DType::kF32:
      break;
  }
  return ElementKind::kF32;
}

WorkspaceLayout WorkspaceLayoutOf(const DecodePlan& plan) {
  if (plan.variant == Variant::kThrust) {
    return {.control_bytes = kControlBytes,
            .total_bytes = kControlBytes +
                           ThrustWorkspaceBytes(KindOf(plan.shape.kv_dtype),
                                                ParamsOf(plan))};
  }
  if (plan.reduction == Reduction::kNone ||
      plan.reduction == Reduction::kCluster) {
    return {};
  }
  const DecodeShape& s = plan.shape;
  const int64_t partials = plan.partition == Partition::kChunks
                               ? MaxPartials(plan.chunking.max_extra_chunks)
                               : MaxItems(plan);
  const std::size_t num_rows = static_cast<std::size_t>(partials) *
                               static_cast<std::size_t>(plan.num_row_tiles) *
                               static_cast<std::size_t>(s.num_kv_heads) *
                               static_cast<std::size_t>(plan.rows_per_item);
  WorkspaceLayout layout{.control_bytes = kControlBytes,
                         .states_offset = kControlBytes};
  layout.values_offset =
      RoundUp(layout.states_offset + num_rows * sizeof(SoftmaxState));
  layout.total_bytes =
      layout.values_offset +
      num_rows * static_cast<std::size_t>(s.value_dim) * sizeof(float);
  if (plan.partition == Partition::kChunks) {
    layout.schedule_offset = RoundUp(layout.total_bytes);
    layout.total_bytes = layout.schedule_offset + ScheduleBytes(plan);
  }
  return layout;
}

absl::StatusOr<Launch> Lower(const DecodePlan& plan, const DecodeArgs& args,
                             const DeviceProfile& profile,
                             const RunContext& context) {
  const ProfileRange range("paged/lower");
  PAGED_RETURN_IF_ERROR(CheckPlanDevice(plan, profile));
  PAGED_RETURN_IF_ERROR(CheckSchedule(plan, context.schedule));
  PAGED_RETURN_IF_ERROR(CheckArgs(plan, args));
  PAGED_RETURN_IF_ERROR(CheckPointers(args, profile.kind));
  PAGED_RETURN_IF_ERROR(CheckWorkspace(plan, context.workspace, profile.kind));

  Launch launch{.variant = plan.variant,
                .partition = plan.partition,
                .reduction = plan.reduction,
                .query_element = KindOf(plan.shape.query_dtype),
                .kv_element = KindOf(plan.shape.kv_dtype),
                .instance = {plan.instance.warps, plan.instance.stages},
                .starts_early = plan.starts_early,
                .params = ParamsOf(plan),
                .workspace = context.workspace,
                .own_schedule = {}};
  DecodeParams& params = launch.params;
  BindPointers(args, params);
  if (plan.reduction != Reduction::kNone && plan.workspace_bytes != 0) {
    const WorkspaceLayout layout = WorkspaceLayoutOf(plan);
    auto* base = static_cast<std::byte*>(context.workspace.data);
    params.partials = {
        reinterpret_cast<SoftmaxState*>(base + layout.states_offset),
        reinterpret_cast<float*>(base + layout.values_offset)};
    if (plan.reduction == Reduction::kLastCta) {
      params.arrivals = reinterpret_cast<uint32_t*>(base);
    }
    if (plan.partition == Partition::kChunks) {
      const ScheduleParams own = ScheduleParamsOf(
          plan, args.context_lens, base + layout.schedule_offset);
      if (context.schedule == nullptr) launch.own_schedule = own;
      params.schedule = context.schedule == nullptr
                            ? own.schedule
                            : ViewOf(context.schedule->data);
    }
  }
  if (plan.variant == Variant::kThrust) {
    launch.workspace.data =
        static_cast<std::byte*>(context.workspace.data) + plan.control_bytes;
    launch.workspace.bytes -= plan.control_bytes;
  }
  return launch;
}

}  // namespace paged::internal
