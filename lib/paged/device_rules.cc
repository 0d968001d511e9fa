#include "paged/internal/device_rules.h"

#include <algorithm>
#include <string>
#include <tuple>

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

// Elements of a head that the kernels load at once.
constexpr int kVectorElements = 8;

std::string NameOfShape(int warps, int stages) {
  return absl::StrCat("w", warps, "s", stages);
}

DType DTypeOf(ElementKind element) {
  switch (element) {
    case ElementKind::kF16:
      return DType::kF16;
    case ElementKind::kBF16:
      return DType::kBF16;
    case ElementKind::kE4M3:
      return DType::kFp8E4M3;
    case ElementKind::kE5M2:
      return DType::kFp8E5M2;
    case ElementKind::kInt8:
      return DType::kInt8;
    case ElementKind::kF32:
      break;
  }
  return DType::kF32;
}

bool HasTokenScales(const DecodeShape& shape) {
  return shape.key_scales == ScaleGranularity::kToken ||
         shape.value_scales == ScaleGranularity::kToken;
}

bool Serves(const InstanceConfig& config, const DecodeShape& s) {
  if (config.element != KindOf(s.kv_dtype)) return false;
  if (config.key_dim < s.head_dim || config.value_dim < s.value_dim) {
    return false;
  }
  if (!config.has_tensor_cores()) return true;
  if (config.has_byte_elements() ? s.query_dtype == DType::kF32
                                 : s.query_dtype != s.kv_dtype) {
    return false;
  }
  if (!config.has_byte_elements() && HasTokenScales(s)) return false;
  if (config.is_general()) return true;
  return config.key_dim == s.head_dim && config.value_dim == s.value_dim &&
         !NeedsGeneral(s) && HasWholeVectors(s);
}

bool Takes(const InstanceConfig& config,
           const std::optional<InstanceChoice>& forced) {
  if (!forced.has_value()) return true;
  return (!forced->is_general || config.is_general()) &&
         (forced->max_rows == 0 || config.max_rows == forced->max_rows) &&
         (!forced->on_cuda_cores || !config.has_tensor_cores());
}

absl::Status CheckVectors(absl::string_view field, int dim) {
  if (dim % kVectorElements == 0) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(field, " must be a multiple of ",
                                               kVectorElements,
                                               " on CUDA; got ", dim));
}

absl::Status CheckInstance(const DecodeShape& shape,
                           const std::optional<InstanceChoice>& forced) {
  PAGED_RETURN_IF_ERROR(CheckVectors("head_dim", shape.head_dim));
  PAGED_RETURN_IF_ERROR(CheckVectors("value_dim", shape.value_dim));
  const auto classes = ClassesFor(shape, forced);
  if (!classes[0].has_value()) {
    int most = 0;
    for (const InstanceConfig& config : kInstances) {
      most = std::max(most, config.key_dim);
    }
    return absl::UnimplementedError(absl::StrCat(
        "head_dim and value_dim must be at most ", most, " on CUDA; got ",
        shape.head_dim, " and ", shape.value_dim));
  }
  std::string built;
  for (const InstanceConfig& config : kInstances) {
    const auto is_of = [&](const std::optional<InstanceClass>& of) {
      return of.has_value() && IsOf(config, *of);
    };
    if (!is_of(classes[0]) && !is_of(classes[1])) continue;
    if (HasShape(config, forced)) return absl::OkStatus();
    absl::StrAppend(&built, built.empty() ? "" : ", ",
                    NameOfShape(config.shape.warps, config.shape.stages));
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

std::string NameOfVariantRequest(const DecodeOptions& options) {
  const bool from_env = options.variant_source == OptionSource::kEnvironment;
  return absl::StrCat(from_env ? "PAGED_VARIANT=" : "variant ",
                      NameOf(*options.variant));
}

}  // namespace

bool HasShape(const InstanceConfig& config,
              const std::optional<InstanceChoice>& forced) {
  if (!forced.has_value()) return true;
  return (forced->warps == 0 || config.shape.warps == forced->warps) &&
         (forced->stages == 0 || config.shape.stages == forced->stages);
}

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

bool HasWholeVectors(const DecodeShape& s) {
  const int64_t all = s.key.block_stride | s.key.slot_stride |
                      s.key.head_stride | s.value.block_stride |
                      s.value.slot_stride | s.value.head_stride | s.head_dim |
                      s.value_dim;
  return all % (kVectorBytes / SizeOf(s.kv_dtype)) == 0;
}

std::array<std::optional<InstanceClass>, 2> ClassesFor(
    const DecodeShape& shape, const std::optional<InstanceChoice>& forced) {
  const int64_t rows =
      int64_t{shape.q_len} * (shape.num_q_heads / shape.num_kv_heads);
  // Tensor cores before others; then few readings of a tile, and after that
  // little of what the shape has no use for.
  const auto cost = [&](const InstanceConfig& config) {
    const bool reads_more =
        rows > config.max_rows && config.max_rows < kMmaRows;
    return std::tuple(!config.has_tensor_cores(), reads_more, config.kind,
                      config.key_dim + config.value_dim, config.max_rows);
  };
  // Of wide instances, and of the others: those that have the shape that is
  // asked for, if there are any on tensor cores.
  const InstanceConfig* best[2] = {};
  for (bool of_any_shape : {false, true}) {
    if (best[0] != nullptr || best[1] != nullptr) break;
    for (const InstanceConfig& config : kInstances) {
      if (!Serves(config, shape) || !Takes(config, forced)) continue;
      if (!of_any_shape &&
          !(config.has_tensor_cores() && HasShape(config, forced))) {
        continue;
      }
      const InstanceConfig*& other = best[config.max_rows == kWideRows];
      if (other == nullptr || cost(config) < cost(*other)) other = &config;
    }
  }
  if (best[0] != nullptr && rows <= kMmaRows) best[1] = nullptr;
  std::array<std::optional<InstanceClass>, 2> classes;
  std::size_t count = 0;
  for (const InstanceConfig* config : best) {
    if (config == nullptr) continue;
    classes[count++] =
        InstanceClass{config->element, config->kind, config->max_rows,
                      config->key_dim, config->value_dim};
  }
  return classes;
}

bool IsOf(const InstanceConfig& config, const InstanceClass& of) {
  return config.element == of.element && config.kind == of.kind &&
         config.max_rows == of.max_rows && config.key_dim == of.key_dim &&
         config.value_dim == of.value_dim;
}

Instance InstanceOf(const InstanceConfig& config) {
  return {.kv_dtype = DTypeOf(config.element),
          .head_dim = config.key_dim,
          .value_dim = config.value_dim,
          .warps = config.shape.warps,
          .stages = config.shape.stages,
          .max_rows = config.max_rows,
          .is_general = config.is_general(),
          .on_cuda_cores = !config.has_tensor_cores()};
}

const InstanceConfig* ConfigOf(const Instance& instance) {
  for (const InstanceConfig& config : kInstances) {
    if (InstanceOf(config) == instance) return &config;
  }
  return nullptr;
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
    return CheckFeatures(shape, variant);
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
  if (!is_baseline) {
    PAGED_RETURN_IF_ERROR(CheckInstance(shape, options.instance));
  }
  return CheckStrides(shape);
}

}  // namespace paged::internal
