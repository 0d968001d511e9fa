#include "paged/append_kv.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

using internal::Axis;
using internal::CheckAtLeast;
using internal::CheckAxes;
using internal::CheckNotNull;
using internal::CheckRange;
using internal::Overlap;

absl::Status CheckCounts(const AppendKvArgs& a) {
  PAGED_RETURN_IF_ERROR(CheckAtLeast("num_tokens", a.num_tokens, 0));
  PAGED_RETURN_IF_ERROR(CheckAtLeast("num_kv_heads", a.num_kv_heads, 1));
  // Programs of one launch.
  PAGED_RETURN_IF_ERROR(CheckRange("num_tokens * num_kv_heads",
                                   int64_t{a.num_tokens} * a.num_kv_heads, 0,
                                   std::numeric_limits<int32_t>::max()));
  PAGED_RETURN_IF_ERROR(
      CheckRange("head_dim", a.head_dim, 1, internal::kMaxHeadDim));
  PAGED_RETURN_IF_ERROR(
      CheckRange("value_dim", a.value_dim, 0, internal::kMaxHeadDim));
  PAGED_RETURN_IF_ERROR(
      CheckRange("block_size", a.block_size, 1, internal::kMaxBlockSize));
  PAGED_RETURN_IF_ERROR(CheckRange("num_blocks", a.num_blocks, 0,
                                   std::numeric_limits<int32_t>::max()));
  PAGED_RETURN_IF_ERROR(internal::CheckDType("dtype", a.dtype));
  return internal::CheckDType("row_dtype", a.row_dtype.value_or(a.dtype));
}

// One of keys and values, as far as its scales go.
struct ScaledTensor {
  const char* rows;
  const char* factor_field;
  const char* granularity_field;
  const char* scales_field;
  const char* strides_field;
  float factor;
  ScaleGranularity granularity;
  const float* scales;
  KvStrides strides;
};

ScaledTensor Key(const AppendKvArgs& a) {
  return {"key",
          "key_scale",
          "key_granularity",
          "key_scales",
          "key_scale_strides",
          a.key_scale,
          a.key_granularity,
          a.key_scales,
          a.key_scale_strides};
}

ScaledTensor Value(const AppendKvArgs& a) {
  return {"value",
          "value_scale",
          "value_granularity",
          "value_scales",
          "value_scale_strides",
          a.value_scale,
          a.value_granularity,
          a.value_scales,
          a.value_scale_strides};
}

bool HasScales(const ScaledTensor& t) {
  return t.factor != 1.0f || t.granularity != ScaleGranularity::kNone;
}

absl::Status CheckScales(const AppendKvArgs& a, const ScaledTensor& t) {
  PAGED_RETURN_IF_ERROR(internal::CheckScale(t.factor_field, t.factor,
                                             t.granularity_field, t.granularity,
                                             t.strides_field, t.strides));
  const DType rows = a.row_dtype.value_or(a.dtype);
  if (rows <= DType::kF32 || (rows == a.dtype && !HasScales(t))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("row_dtype must be fp16, bf16 or fp32 for a ", t.rows,
                   " that is converted; got ", NameOf(rows)));
}

AppendKvArgs WithDefaults(AppendKvArgs a) {
  if (a.value_dim == 0) a.value_dim = a.head_dim;
  a.row_dtype = a.row_dtype.value_or(a.dtype);
  const auto dense_tokens = [&a](int dim) {
    return TokenStrides{int64_t{a.num_kv_heads} * dim, dim};
  };
  const auto dense_cache = [&a](int dim) {
    const int64_t slot_stride = int64_t{a.num_kv_heads} * dim;
    return KvStrides{a.block_size * slot_stride, slot_stride, dim};
  };
  if (a.key_strides == TokenStrides{}) {
    a.key_strides = dense_tokens(a.head_dim);
  }
  if (a.value_strides == TokenStrides{}) {
    a.value_strides = dense_tokens(a.value_dim);
  }
  if (a.key_cache_strides == KvStrides{}) {
    a.key_cache_strides = dense_cache(a.head_dim);
  }
  if (a.value_cache_strides == KvStrides{}) {
    a.value_cache_strides = dense_cache(a.value_dim);
  }
  const auto dense_scales = [&](ScaleGranularity granularity,
                                KvStrides& strides) {
    if (granularity == ScaleGranularity::kToken && strides == KvStrides{}) {
      strides = dense_cache(1);
    }
  };
  dense_scales(a.key_granularity, a.key_scale_strides);
  dense_scales(a.value_granularity, a.value_scale_strides);
  return a;
}

absl::Status CheckTokens(const char* tensor, const AppendKvArgs& a,
                         const TokenStrides& strides, int dim) {
  const Axis axes[] = {{"token_stride", a.num_tokens, strides.token_stride},
                       {"head_stride", a.num_kv_heads, strides.head_stride}};
  return CheckAxes(tensor, axes, dim, Overlap::kAllowed);
}

// Slots are written by many threads at once, so they may not overlap.
absl::Status CheckCache(const char* tensor, const AppendKvArgs& a,
                        const KvStrides& strides, int dim) {
  const Axis axes[] = {{"block_stride", a.num_blocks, strides.block_stride},
                       {"slot_stride", a.block_size, strides.slot_stride},
                       {"head_stride", a.num_kv_heads, strides.head_stride}};
  return CheckAxes(tensor, axes, dim, Overlap::kRefused);
}

absl::Status CheckPointers(const AppendKvArgs& a) {
  if (a.num_tokens == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckNotNull("slot_mapping", a.slot_mapping));
  // Every slot is then past the pool, and nothing is copied.
  if (a.num_blocks == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckNotNull("key", a.key));
  PAGED_RETURN_IF_ERROR(CheckNotNull("value", a.value));
  PAGED_RETURN_IF_ERROR(CheckNotNull("key_cache", a.key_cache));
  PAGED_RETURN_IF_ERROR(CheckNotNull("value_cache", a.value_cache));
  for (const ScaledTensor& t : {Key(a), Value(a)}) {
    PAGED_RETURN_IF_ERROR(internal::CheckOptional(
        t.scales_field, t.granularity_field,
        t.granularity != ScaleGranularity::kNone, t.scales));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AppendKvArgs> ValidateAppend(const AppendKvArgs& args) {
  PAGED_RETURN_IF_ERROR(CheckCounts(args));
  PAGED_RETURN_IF_ERROR(CheckScales(args, Key(args)));
  PAGED_RETURN_IF_ERROR(CheckScales(args, Value(args)));
  const AppendKvArgs a = WithDefaults(args);
  PAGED_RETURN_IF_ERROR(
      CheckTokens("key_strides", a, a.key_strides, a.head_dim));
  PAGED_RETURN_IF_ERROR(
      CheckTokens("value_strides", a, a.value_strides, a.value_dim));
  PAGED_RETURN_IF_ERROR(
      CheckCache("key_cache_strides", a, a.key_cache_strides, a.head_dim));
  PAGED_RETURN_IF_ERROR(
      CheckCache("value_cache_strides", a, a.value_cache_strides, a.value_dim));
  for (const ScaledTensor& t : {Key(a), Value(a)}) {
    if (t.granularity != ScaleGranularity::kToken) continue;
    PAGED_RETURN_IF_ERROR(CheckCache(t.strides_field, a, t.strides, 1));
  }
  PAGED_RETURN_IF_ERROR(CheckPointers(a));
  return a;
}

}  // namespace paged
