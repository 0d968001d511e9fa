#include "paged/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "paged/internal/profile_range.h"
#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"
#include "paged/internal/validation.h"

namespace paged {
namespace {

using internal::Axis;
using internal::CheckAtLeast;
using internal::CheckAxes;
using internal::CheckDType;
using internal::CheckNotNull;
using internal::CheckOptional;
using internal::CheckRange;
using internal::CheckScale;
using internal::Overlap;

constexpr int kIntMax = std::numeric_limits<int>::max();

absl::Status CheckHeads(const DecodeShape& s) {
  PAGED_RETURN_IF_ERROR(CheckAtLeast("num_seqs", s.num_seqs, 0));
  PAGED_RETURN_IF_ERROR(CheckRange("q_len", s.q_len, 1, internal::kMaxQLen));
  PAGED_RETURN_IF_ERROR(CheckAtLeast("num_q_heads", s.num_q_heads, 1));
  PAGED_RETURN_IF_ERROR(CheckAtLeast("num_kv_heads", s.num_kv_heads, 1));
  if (s.num_q_heads % s.num_kv_heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_q_heads must be a multiple of num_kv_heads; got ",
                     s.num_q_heads, " and ", s.num_kv_heads));
  }
  PAGED_RETURN_IF_ERROR(
      CheckRange("head_dim", s.head_dim, 1, internal::kMaxHeadDim));
  PAGED_RETURN_IF_ERROR(
      CheckRange("value_dim", s.value_dim, 0, internal::kMaxHeadDim));
  PAGED_RETURN_IF_ERROR(
      internal::CheckQueryDType("query_dtype", s.query_dtype));
  PAGED_RETURN_IF_ERROR(CheckDType("kv_dtype", s.kv_dtype));
  return absl::OkStatus();
}

absl::Status CheckFactor(const char* field, const char* meaning_of_0,
                         float value) {
  if (std::isfinite(value) && value >= 0.0f) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be finite and at least 0 (0 means ",
                   meaning_of_0, "); got ", value));
}

absl::Status CheckScores(const DecodeShape& s) {
  PAGED_RETURN_IF_ERROR(CheckAtLeast("window", s.window, 0));
  PAGED_RETURN_IF_ERROR(CheckAtLeast("attention_chunk", s.attention_chunk, 0));
  PAGED_RETURN_IF_ERROR(CheckAtLeast("sink_tokens", s.sink_tokens, 0));
  if (s.has_tree_masks &&
      (s.window != 0 || s.attention_chunk != 0 || s.has_alibi)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has_tree_masks must be false with window, "
                     "attention_chunk or has_alibi; got ",
                     s.window, ", ", s.attention_chunk, " and ",
                     s.has_alibi ? "true" : "false"));
  }
  PAGED_RETURN_IF_ERROR(CheckFactor("scale", "1 / sqrt(head_dim)", s.scale));
  PAGED_RETURN_IF_ERROR(CheckFactor("soft_cap", "none", s.soft_cap));
  if (s.bias_stride == 0) return absl::OkStatus();
  if (!s.has_bias) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bias_stride must be 0 without has_bias; got ", s.bias_stride));
  }
  // Of any number of sequences: offsets in bytes stay within int64.
  return CheckRange("bias_stride", s.bias_stride, s.max_context_len,
                    internal::kMaxExtent / std::max(s.num_seqs, 1));
}

absl::Status CheckCapacities(const DecodeShape& s) {
  PAGED_RETURN_IF_ERROR(
      CheckRange("block_size", s.block_size, 1, internal::kMaxBlockSize));
  // Entries of a block table are int32.
  PAGED_RETURN_IF_ERROR(CheckRange("num_blocks", s.num_blocks, 0, kIntMax));
  PAGED_RETURN_IF_ERROR(
      CheckAtLeast("max_blocks_per_seq", s.max_blocks_per_seq, 0));
  PAGED_RETURN_IF_ERROR(CheckAtLeast("max_context_len", s.max_context_len, 0));
  if (int64_t{s.max_blocks_per_seq} * s.block_size < s.max_context_len) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_context_len must be at most max_blocks_per_seq times block_size; "
        "got ",
        s.max_context_len, " with ", s.max_blocks_per_seq, " and ",
        s.block_size));
  }
  if (s.max_context_len > 0 && s.num_blocks == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_blocks must be at least 1 for a max_context_len "
                     "above 0; got 0 and ",
                     s.max_context_len));
  }
  PAGED_RETURN_IF_ERROR(CheckRange(
      "expected_context_len", s.expected_context_len, 0, s.max_context_len));
  if (s.block_table_stride != 0) {
    PAGED_RETURN_IF_ERROR(CheckAtLeast(
        "block_table_stride", s.block_table_stride, s.max_blocks_per_seq));
  }
  const double table_stride = static_cast<double>(
      std::max<int64_t>(s.block_table_stride, s.max_blocks_per_seq));
  const double table_entries = s.num_seqs * table_stride;
  // Per q head: what the thrust variant's scores, and any count of bytes that
  // a plan makes, grow with.
  const double elements = static_cast<double>(s.num_seqs) * s.max_context_len *
                          s.num_q_heads * s.head_dim;
  // 2^56 elements, keys and values of 4 bytes, leave room in int64.
  if (elements > 0x1p56 || table_entries > 0x1p60) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_seqs must keep num_seqs * max_context_len * num_q_heads * "
        "head_dim within 2^56, and num_seqs * block_table_stride within "
        "2^60; got ",
        s.num_seqs));
  }
  return absl::OkStatus();
}

RowStrides DenseRows(const DecodeShape& s, int dim) {
  const int64_t token_stride = int64_t{s.num_q_heads} * dim;
  return {s.has_query_offsets ? 0 : s.q_len * token_stride, token_stride, dim};
}

KvStrides DenseKv(const DecodeShape& s, int dim) {
  const int64_t slot_stride = int64_t{s.num_kv_heads} * dim;
  return {s.block_size * slot_stride, slot_stride, dim};
}

absl::Status CheckRows(const char* tensor, const DecodeShape& s,
                       const RowStrides& strides, int dim, Overlap overlap) {
  const Axis heads = {"head_stride", s.num_q_heads, strides.head_stride};
  if (s.has_query_offsets) {
    if (strides.seq_stride != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensor,
                       ".seq_stride must be 0 with has_query_offsets; "
                       "got ",
                       strides.seq_stride));
    }
    const Axis axes[] = {
        {"token_stride", int64_t{s.num_seqs} * s.q_len, strides.token_stride},
        heads};
    return CheckAxes(tensor, axes, dim, overlap);
  }
  const Axis axes[] = {{"seq_stride", s.num_seqs, strides.seq_stride},
                       {"token_stride", s.q_len, strides.token_stride},
                       heads};
  return CheckAxes(tensor, axes, dim, overlap);
}

absl::Status CheckKv(const char* tensor, const DecodeShape& s,
                     const KvStrides& strides, int dim) {
  const Axis axes[] = {{"block_stride", s.num_blocks, strides.block_stride},
                       {"slot_stride", s.block_size, strides.slot_stride},
                       {"head_stride", s.num_kv_heads, strides.head_stride}};
  return CheckAxes(tensor, axes, dim, Overlap::kAllowed);
}

}  // namespace

namespace internal {

DecodeShape WithDefaults(DecodeShape s) {
  if (s.value_dim == 0) s.value_dim = s.head_dim;
  if (s.expected_context_len == 0) s.expected_context_len = s.max_context_len;
  if (s.scale == 0.0f) {
    s.scale = static_cast<float>(1.0 / std::sqrt(double(s.head_dim)));
  }
  if (s.query == RowStrides{}) s.query = DenseRows(s, s.head_dim);
  if (s.key == KvStrides{}) s.key = DenseKv(s, s.head_dim);
  if (s.value == KvStrides{}) s.value = DenseKv(s, s.value_dim);
  if (s.output == RowStrides{}) s.output = DenseRows(s, s.value_dim);
  if (s.block_table_stride == 0) s.block_table_stride = s.max_blocks_per_seq;
  if (s.has_bias && s.bias_stride == 0) s.bias_stride = s.max_context_len;
  const auto dense_scales = [&s](ScaleGranularity granularity,
                                 KvStrides& strides) {
    if (granularity == ScaleGranularity::kToken && strides == KvStrides{}) {
      strides = DenseKv(s, 1);
    }
  };
  dense_scales(s.key_scales, s.key_scale_strides);
  dense_scales(s.value_scales, s.value_scale_strides);
  return s;
}

absl::Status CheckPresence(const DecodeArgs& args, const DecodeShape& s) {
  if (s.num_seqs == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckOptional("key_scales", "key_scales of the shape",
                                      s.key_scales != ScaleGranularity::kNone,
                                      args.key_scales));
  PAGED_RETURN_IF_ERROR(CheckOptional(
      "value_scales", "value_scales of the shape",
      s.value_scales != ScaleGranularity::kNone, args.value_scales));
  PAGED_RETURN_IF_ERROR(CheckOptional("query_offsets", "has_query_offsets",
                                      s.has_query_offsets, args.query_offsets));
  PAGED_RETURN_IF_ERROR(CheckOptional("tree_masks", "has_tree_masks",
                                      s.has_tree_masks, args.tree_masks));
  PAGED_RETURN_IF_ERROR(CheckOptional("alibi_slopes", "has_alibi", s.has_alibi,
                                      args.alibi_slopes));
  // Without a token there is no bias, and its tensor is empty.
  if (!s.has_bias || s.max_context_len > 0) {
    PAGED_RETURN_IF_ERROR(
        CheckOptional("bias", "has_bias", s.has_bias, args.bias));
  }
  PAGED_RETURN_IF_ERROR(CheckOptional("sink_logits", "has_sink_logits",
                                      s.has_sink_logits, args.sink_logits));
  PAGED_RETURN_IF_ERROR(CheckNotNull("query", args.query));
  PAGED_RETURN_IF_ERROR(CheckNotNull("context_lens", args.context_lens));
  PAGED_RETURN_IF_ERROR(CheckNotNull("output", args.output));
  if (s.max_context_len == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckNotNull("key_cache", args.key_cache));
  PAGED_RETURN_IF_ERROR(CheckNotNull("value_cache", args.value_cache));
  PAGED_RETURN_IF_ERROR(CheckNotNull("block_tables", args.block_tables));
  return absl::OkStatus();
}

}  // namespace internal

absl::StatusOr<DecodeProblem> ValidateShape(const DecodeShape& shape) {
  PAGED_RETURN_IF_ERROR(CheckHeads(shape));
  PAGED_RETURN_IF_ERROR(CheckCapacities(shape));
  PAGED_RETURN_IF_ERROR(CheckScores(shape));
  PAGED_RETURN_IF_ERROR(CheckScale("key_scale", shape.key_scale, "key_scales",
                                   shape.key_scales, "key_scale_strides",
                                   shape.key_scale_strides));
  PAGED_RETURN_IF_ERROR(CheckScale(
      "value_scale", shape.value_scale, "value_scales", shape.value_scales,
      "value_scale_strides", shape.value_scale_strides));
  const DecodeShape s = internal::WithDefaults(shape);
  PAGED_RETURN_IF_ERROR(
      CheckRows("query", s, s.query, s.head_dim, Overlap::kAllowed));
  PAGED_RETURN_IF_ERROR(CheckKv("key", s, s.key, s.head_dim));
  PAGED_RETURN_IF_ERROR(CheckKv("value", s, s.value, s.value_dim));
  if (s.key_scales == ScaleGranularity::kToken) {
    PAGED_RETURN_IF_ERROR(
        CheckKv("key_scale_strides", s, s.key_scale_strides, 1));
  }
  if (s.value_scales == ScaleGranularity::kToken) {
    PAGED_RETURN_IF_ERROR(
        CheckKv("value_scale_strides", s, s.value_scale_strides, 1));
  }
  PAGED_RETURN_IF_ERROR(
      CheckRows("output", s, s.output, s.value_dim, Overlap::kRefused));
  return DecodeProblem(s);
}

absl::StatusOr<DecodeProblem> Validate(const DecodeArgs& args) {
  const internal::ProfileRange range("paged/validate");
  PAGED_ASSIGN_OR_RETURN(DecodeProblem problem, ValidateShape(args.shape));
  PAGED_RETURN_IF_ERROR(internal::CheckPresence(args, problem.shape()));
  return problem;
}

}  // namespace paged
