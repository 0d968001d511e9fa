// From the library's shapes and arguments to what kernels are given.
#include "kernels/core/kernel_params.h"

#include <cstdint>

#include "kernels/core/online_softmax.h"
#include "paged/internal/lower.h"
#include "paged/internal/schedule.h"

namespace paged::internal {
namespace {

KvScales ScalesOf(float factor, ScaleGranularity granularity,
                  const KvStrides& strides) {
  KvScales scales{.factor = factor};
  if (granularity == ScaleGranularity::kHead) scales.head_stride = 1;
  if (granularity == ScaleGranularity::kToken) {
    scales.block_stride = strides.block_stride;
    scales.slot_stride = strides.slot_stride;
    scales.head_stride = strides.head_stride;
  }
  return scales;
}

}  // namespace

DecodeParams ParamsOf(const DecodePlan& plan) {
  const DecodeShape& s = plan.shape;
  const auto rows = [](const RowStrides& strides) -> RowView {
    return {nullptr, strides.seq_stride, strides.token_stride,
            strides.head_stride};
  };
  const auto pool = [](const KvStrides& strides) -> KvView {
    return {nullptr, strides.block_stride, strides.slot_stride,
            strides.head_stride};
  };
  return {
      .query = rows(s.query),
      .key = pool(s.key),
      .value = pool(s.value),
      .output = rows(s.output),
      .lse = nullptr,
      .block_tables = nullptr,
      .block_table_stride = s.block_table_stride,
      .context_lens = nullptr,
      .query_offsets = nullptr,
      .tree_masks = nullptr,
      .partials = {},
      .schedule = {},
      .max_chunks = plan.partition == Partition::kChunks
                        ? static_cast<int>(MaxItems(plan))
                        : 0,
      .query_element = KindOf(s.query_dtype),
      .num_seqs = s.num_seqs,
      .q_len = s.q_len,
      .num_kv_heads = s.num_kv_heads,
      .group = s.num_q_heads / s.num_kv_heads,
      .key_dim = s.head_dim,
      .value_dim = s.value_dim,
      .block_size = s.block_size,
      .max_context_len = s.max_context_len,
      .rows_per_item = plan.rows_per_item,
      .num_row_tiles = plan.num_row_tiles,
      .num_splits = plan.num_splits,
      .scale_log2 = s.scale * kLog2E,
      .rules = {.window = s.window,
                .chunk = s.attention_chunk,
                .sink_tokens = s.sink_tokens,
                .soft_cap_log2 = s.soft_cap * kLog2E,
                .bias_stride = s.bias_stride},
      .key_scales = ScalesOf(s.key_scale, s.key_scales, s.key_scale_strides),
      .value_scales =
          ScalesOf(s.value_scale, s.value_scales, s.value_scale_strides)};
}

void BindPointers(const DecodeArgs& args, DecodeParams& params) {
  // A view's type says where a tensor lies, not that it is written.
  params.query.data = const_cast<void*>(args.query);
  params.key.data = args.key_cache;
  params.value.data = args.value_cache;
  params.output.data = args.output;
  params.lse = args.lse;
  params.block_tables = args.block_tables;
  params.context_lens = args.context_lens;
  params.key_scales.data = args.key_scales;
  params.value_scales.data = args.value_scales;
  params.query_offsets = args.query_offsets;
  params.tree_masks = args.tree_masks;
  params.rules.alibi_slopes = args.alibi_slopes;
  params.rules.sink_logits = args.sink_logits;
  params.rules.bias = args.bias;
}

DecodeParams ParamsOf(const DecodeProblem& problem, const DecodeArgs& args) {
  DecodePlan plan;
  plan.shape = problem.shape();
  plan.rows_per_item = problem.rows();
  DecodeParams params = ParamsOf(plan);
  BindPointers(args, params);
  return params;
}

MergeParams LowerMerge(const MergeArgs& a) {
  return {.first_output = a.first_output,
          .first_lse = a.first_lse,
          .second_output = a.second_output,
          .second_lse = a.second_lse,
          .output = a.output,
          .lse = a.lse,
          .num_rows = a.num_rows,
          .dim = a.dim};
}

AppendParams LowerAppend(const AppendKvArgs& a) {
  const auto tensor = [](const void* rows, const TokenStrides& strides,
                         void* pool, const KvStrides& pool_strides,
                         int dim) -> AppendTensor {
    return {.rows = rows,
            .token_stride = strides.token_stride,
            .head_stride = strides.head_stride,
            .pool = pool,
            .layout = {pool, pool_strides.block_stride,
                       pool_strides.slot_stride, pool_strides.head_stride},
            .head_dim = dim};
  };
  const auto set_scales = [](AppendTensor& to, float factor,
                             ScaleGranularity granularity, float* scales,
                             const KvStrides& strides) {
    to.scales = ScalesOf(factor, granularity, strides);
    to.scales.data = scales;
    if (granularity == ScaleGranularity::kToken) to.row_scales = scales;
    return factor != 1.0f || granularity != ScaleGranularity::kNone;
  };
  AppendParams p{.key = tensor(a.key, a.key_strides, a.key_cache,
                               a.key_cache_strides, a.head_dim),
                 .value = tensor(a.value, a.value_strides, a.value_cache,
                                 a.value_cache_strides, a.value_dim),
                 .slot_mapping = a.slot_mapping,
                 .num_tokens = a.num_tokens,
                 .num_kv_heads = a.num_kv_heads,
                 .block_size = a.block_size,
                 .num_slots = a.num_blocks * a.block_size,
                 .row_element = KindOf(a.row_dtype.value_or(a.dtype)),
                 .pool_element = KindOf(a.dtype)};
  const bool scales_keys = set_scales(p.key, a.key_scale, a.key_granularity,
                                      a.key_scales, a.key_scale_strides);
  const bool scales_values =
      set_scales(p.value, a.value_scale, a.value_granularity, a.value_scales,
                 a.value_scale_strides);
  p.converts = p.row_element != p.pool_element || scales_keys || scales_values;
  return p;
}

}  // namespace paged::internal
