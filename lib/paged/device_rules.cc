#include "paged/internal/device_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "paged/internal/feature_rules.h"
#include "paged/internal/lower.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

// cp.async, which the device loop is built on.
constexpr int kLeastComputeCapability = 80;
// Thread block clusters.
constexpr int kLeastOfCluster = 90;
constexpr int kVectorBytes = 16;

absl::string_view NameOf(ElementKind element) {
  switch (element) {
    case ElementKind::kF16:
      return paged::NameOf(DType::kF16);
    case ElementKind::kBF16:
      return paged::NameOf(DType::kBF16);
    case ElementKind::kE4M3:
      return paged::NameOf(DType::kFp8E4M3);
    case ElementKind::kE5M2:
      return paged::NameOf(DType::kFp8E5M2);
    case ElementKind::kInt8:
      return paged::NameOf(DType::kInt8);
    case ElementKind::kF32:
      break;
  }
  return paged::NameOf(DType::kF32);
}

// "a, b or c".
template <typename List, typename Name>
std::string Join(const List& list, absl::string_view last, Name name) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) absl::StrAppend(&text, i + 1 == list.size() ? last : ", ");
    absl::StrAppend(&text, name(list[i]));
  }
  return text;
}

std::string NameOfShape(int warps, int stages) {
  return absl::StrCat("w", warps, "s", stages);
}

absl::Status CheckInstance(const DecodeShape& shape,
                           const std::optional<InstanceChoice>& forced) {
  bool serves_shape = false;
  for (const InstanceConfig& config : kInstances) {
    if (Serves(config, shape, forced)) return absl::OkStatus();
    serves_shape = serves_shape || Serves(config, shape, std::nullopt);
  }
  if (serves_shape) {
    return absl::UnimplementedError(
        absl::StrCat("instance ", NameOfShape(forced->warps, forced->stages),
                     " is not built; built: ",
                     Join(kInstanceShapes, " and ", [](InstanceShape built) {
                       return NameOfShape(built.warps, built.stages);
                     })));
  }
  return absl::UnimplementedError(absl::StrCat(
      "kv_dtype ", paged::NameOf(shape.kv_dtype), " with head_dim ",
      shape.head_dim, " is not built for CUDA; built: ",
      Join(kInstanceElements, " and ",
           [](ElementKind element) { return NameOf(element); }),
      " with head_dim ",
      Join(kInstanceHeadDims, " or ", [](int dim) { return dim; })));
}

absl::Status CheckStride(absl::string_view field, int64_t stride, DType dtype) {
  // Of elements: the stride in bytes might not fit.
  if (stride % (kVectorBytes / SizeOf(dtype)) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be a multiple of 16 bytes on CUDA; got ",
                   stride, " elements of ", SizeOf(dtype), " bytes"));
}

absl::Status CheckStrides(const DecodeShape& s) {
  const struct {
    absl::string_view field;
    int64_t stride;
    DType dtype;
  } strides[] = {
      {"query.seq_stride", s.query.seq_stride, s.query_dtype},
      {"query.token_stride", s.query.token_stride, s.query_dtype},
      {"query.head_stride", s.query.head_stride, s.query_dtype},
      {"key.block_stride", s.key.block_stride, s.kv_dtype},
      {"key.slot_stride", s.key.slot_stride, s.kv_dtype},
      {"key.head_stride", s.key.head_stride, s.kv_dtype},
      {"value.block_stride", s.value.block_stride, s.kv_dtype},
      {"value.slot_stride", s.value.slot_stride, s.kv_dtype},
      {"value.head_stride", s.value.head_stride, s.kv_dtype},
      {"output.seq_stride", s.output.seq_stride, s.query_dtype},
      {"output.token_stride", s.output.token_stride, s.query_dtype},
      {"output.head_stride", s.output.head_stride, s.query_dtype},
  };
  for (const auto& [field, stride, dtype] : strides) {
    PAGED_RETURN_IF_ERROR(CheckStride(field, stride, dtype));
  }
  return absl::OkStatus();
}

std::string NameOfVariantRequest(const DecodeOptions& options) {
  const bool from_env = options.variant_source == OptionSource::kEnvironment;
  return absl::StrCat(from_env ? "PAGED_VARIANT=" : "variant ",
                      NameOf(*options.variant));
}

}  // namespace

bool CanReduce(Reduction reduction, const DeviceProfile& profile) {
  switch (reduction) {
    case Reduction::kCluster:
      return profile.kind == DeviceKind::kCuda &&
             profile.compute_capability >= kLeastOfCluster;
    case Reduction::kLastCta:
      return profile.kind == DeviceKind::kCuda;
    case Reduction::kAuto:
    case Reduction::kNone:
    case Reduction::kSecondPass:
      break;
  }
  return true;
}

bool Serves(const InstanceConfig& config, const DecodeShape& shape,
            const std::optional<InstanceChoice>& forced) {
  return config.element == KindOf(shape.kv_dtype) &&
         config.head_dim == shape.head_dim &&
         (!forced.has_value() || (config.shape.warps == forced->warps &&
                                  config.shape.stages == forced->stages));
}

absl::Status CheckDevice(const DecodeShape& shape, const DeviceProfile& profile,
                         const DecodeOptions& options) {
  const Variant variant = options.variant.value_or(Variant::kAuto);
  const bool is_baseline =
      variant == Variant::kThrust || variant == Variant::kReference;
  if (options.instance.has_value() &&
      (is_baseline || profile.kind == DeviceKind::kCpu)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "instance must be left open where there is none to choose; got ",
        NameOfShape(options.instance->warps, options.instance->stages),
        " with variant ", NameOf(variant), " on ", profile.name));
  }
  if (const Reduction reduction = options.reduction.value_or(Reduction::kAuto);
      !CanReduce(reduction, profile)) {
    const bool from_env =
        options.reduction_source == OptionSource::kEnvironment;
    return absl::InvalidArgumentError(absl::StrCat(
        from_env ? "PAGED_REDUCTION=" : "reduction ", NameOf(reduction),
        reduction == Reduction::kCluster
            ? " needs a GPU of compute capability 9.0 and up"
            : " needs a GPU",
        "; got device ", profile.name));
  }
  if (profile.kind == DeviceKind::kCpu) {
    return CheckFeatures(shape, profile.kind, variant);
  }
  if (variant == Variant::kReference) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOfVariantRequest(options),
                     " runs on the CPU only; got device ", profile.name));
  }
  if (profile.compute_capability < kLeastComputeCapability) {
    return absl::UnimplementedError(
        absl::StrCat("compute_capability below ", kLeastComputeCapability,
                     " is not built; got ", profile.compute_capability, " of ",
                     profile.name));
  }
  PAGED_RETURN_IF_ERROR(CheckFeatures(shape, profile.kind, variant));
  if (!is_baseline) {
    PAGED_RETURN_IF_ERROR(CheckInstance(shape, options.instance));
  }
  return CheckStrides(shape);
}

}  // namespace paged::internal
