#include "paged/internal/device_rules.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "paged/internal/feature_rules.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

// cp.async, which the device loop is built on.
constexpr int kLeastComputeCapability = 80;
// Thread block clusters.
constexpr int kLeastOfCluster = 90;

// Elements of a head that the kernels load at once.
constexpr int kVectorElements = 8;

std::string NameOfShape(int warps, int stages) {
  return absl::StrCat("w", warps, "s", stages);
}

absl::Status CheckVectors(absl::string_view field, int dim) {
  if (dim % kVectorElements == 0) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(field, " must be a multiple of ",
                                               kVectorElements,
                                               " on CUDA; got ", dim));
}

// The classes of instances to weigh, of which one has the shape that is asked
// for.
absl::StatusOr<InstanceClasses> FindClasses(
    const DecodeShape& shape, const std::optional<InstanceChoice>& forced) {
  PAGED_RETURN_IF_ERROR(CheckVectors("head_dim", shape.head_dim));
  PAGED_RETURN_IF_ERROR(CheckVectors("value_dim", shape.value_dim));
  const InstanceClasses classes = ClassesFor(shape, forced);
  if (classes[0].count == 0) {
    int most = 0;
    for (const InstanceConfig& config : kInstances) {
      most = std::max(most, config.key_dim);
    }
    return absl::UnimplementedError(absl::StrCat(
        "head_dim and value_dim must be at most ", most, " on CUDA; got ",
        shape.head_dim, " and ", shape.value_dim));
  }
  std::string built;
  for (const InstanceClass& of : classes) {
    for (const InstanceConfig& config : of.members()) {
      if (HasShape(config, forced)) return classes;
      absl::StrAppend(&built, built.empty() ? "" : ", ",
                      NameOfShape(config.shape.warps, config.shape.stages));
    }
  }
  return absl::UnimplementedError(
      absl::StrCat("instance ", NameOfShape(forced->warps, forced->stages),
                   " is not built; built: ", built));
}

absl::Status CheckStride(absl::string_view field, int64_t stride, DType dtype) {
  // Rows of bytes may be copied by halves.
  const int bytes = SizeOf(dtype) == 1 ? kVectorElements : kVectorBytes;
  // Of elements: the stride in bytes might not fit.
  if (stride % (bytes / SizeOf(dtype)) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " must be a multiple of ", bytes, " bytes on CUDA; got ", stride,
      " elements of ", SizeOf(dtype), " bytes"));
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

absl::Status CheckReduction(const DeviceProfile& profile,
                            const DecodeOptions& options) {
  const Reduction reduction = options.reduction.value_or(Reduction::kAuto);
  const bool from_env = options.reduction_source == OptionSource::kEnvironment;
  if (!CanReduce(reduction, profile)) {
    return absl::InvalidArgumentError(absl::StrCat(
        from_env ? "PAGED_REDUCTION=" : "reduction ", NameOf(reduction),
        reduction == Reduction::kCluster
            ? " needs a GPU of compute capability 9.0 and up"
            : " needs a GPU",
        "; got device ", profile.name));
  }
  const Reduction of_chunks = ReductionOfChunks(profile);
  if (options.partition == Partition::kChunks &&
      reduction != Reduction::kAuto && reduction != of_chunks) {
    return absl::InvalidArgumentError(absl::StrCat(
        from_env ? "PAGED_REDUCTION" : "reduction", " must be auto or ",
        NameOf(of_chunks), " with partition chunks on ", profile.name, "; got ",
        NameOf(reduction)));
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

Reduction ReductionOfChunks(const DeviceProfile& profile) {
  return profile.kind == DeviceKind::kCuda ? Reduction::kLastCta
                                           : Reduction::kSecondPass;
}

absl::StatusOr<InstanceClasses> CheckDevice(const DecodeShape& shape,
                                            const DeviceProfile& profile,
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
  PAGED_RETURN_IF_ERROR(CheckReduction(profile, options));
  if (profile.kind == DeviceKind::kCpu) {
    PAGED_RETURN_IF_ERROR(CheckFeatures(shape, variant));
    return InstanceClasses{};
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
  PAGED_RETURN_IF_ERROR(CheckFeatures(shape, variant));
  InstanceClasses classes;
  if (!is_baseline) {
    PAGED_ASSIGN_OR_RETURN(classes, FindClasses(shape, options.instance));
  }
  PAGED_RETURN_IF_ERROR(CheckStrides(shape));
  return classes;
}

}  // namespace paged::internal
