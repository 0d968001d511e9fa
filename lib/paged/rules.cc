#include "paged/internal/rules.h"

#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

constexpr std::size_t kMaxAxes = 3;

// Elements from the first to the last of the tensor. In float64, which holds
// any product of the inputs; its rounding does not matter this far below 2^63.
double ExtentOf(absl::Span<const Axis> axes, int dim) {
  double extent = dim;
  for (const Axis& axis : axes) {
    if (axis.extent > 1) {
      extent += static_cast<double>(axis.extent - 1) *
                static_cast<double>(axis.stride);
    }
  }
  return extent;
}

}  // namespace

absl::Status CheckRange(const char* field, int64_t value, int64_t least,
                        int64_t most) {
  if (least <= value && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be ", least, " to ", most, "; got ", value));
}

absl::Status CheckAtLeast(const char* field, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be at least ", least, "; got ", value));
}

absl::Status CheckDType(const char* field, DType dtype) {
  if (dtype <= DType::kInt8) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be a DType of dtype.h; got DType(",
                   static_cast<int>(dtype), ")"));
}

absl::Status CheckQueryDType(const char* field, DType dtype) {
  PAGED_RETURN_IF_ERROR(CheckDType(field, dtype));
  if (dtype <= DType::kF32) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be fp16, bf16 or fp32; got ", NameOf(dtype)));
}

absl::Status CheckNotNull(const char* field, const void* pointer) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " must not be null"));
}

absl::Status CheckOptional(const char* field, const char* flag, bool is_there,
                           const void* pointer) {
  if (is_there) return CheckNotNull(field, pointer);
  if (pointer == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be null without ", flag));
}

absl::Status CheckScale(const char* field, float scale,
                        const char* granularity_field,
                        ScaleGranularity granularity, const char* strides_field,
                        const KvStrides& strides) {
  if (!std::isfinite(scale) || scale <= 0.0f) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " must be finite and above 0; got ", scale));
  }
  if (granularity > ScaleGranularity::kToken) {
    return absl::InvalidArgumentError(
        absl::StrCat(granularity_field, " must be a ScaleGranularity; got ",
                     static_cast<int>(granularity)));
  }
  if (granularity != ScaleGranularity::kToken && strides != KvStrides{}) {
    return absl::InvalidArgumentError(absl::StrCat(
        strides_field, " must be 0 but for ", granularity_field,
        " of each token; got block_stride ", strides.block_stride));
  }
  return absl::OkStatus();
}

absl::Status CheckAxes(const char* tensor, absl::Span<const Axis> axes, int dim,
                       Overlap overlap) {
  std::array<Axis, kMaxAxes> sorted{};  // by stride, several vectors each
  std::size_t num_sorted = 0;
  for (const Axis& axis : axes) {
    // The stride of a single vector is never multiplied by more than 0.
    const int64_t least = axis.extent > 1 ? dim : 0;
    if (axis.stride < least) {
      return absl::InvalidArgumentError(absl::StrCat(
          tensor, ".", axis.name, " must be at least ", least,
          ", or all strides 0 for a dense tensor; got ", axis.stride));
    }
    if (axis.extent <= 1) continue;
    std::size_t at = num_sorted++;
    for (; at > 0 && sorted[at - 1].stride > axis.stride; --at) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = axis;
  }
  if (const double extent = ExtentOf(axes, dim);
      extent > static_cast<double>(kMaxExtent)) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor, " must span at most 2^60 elements; got strides ",
                     "that span ", extent));
  }
  if (overlap == Overlap::kAllowed) return absl::OkStatus();

  int64_t span = dim;  // elements of the axes so far
  for (const Axis& axis : absl::MakeConstSpan(sorted.data(), num_sorted)) {
    if (axis.stride < span) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensor, ".", axis.name, " must be at least ", span,
                       ", so that no two vectors overlap; got ", axis.stride));
    }
    span += (axis.extent - 1) * axis.stride;
  }
  return absl::OkStatus();
}

}  // namespace paged::internal
