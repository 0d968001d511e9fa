#include "paged/options.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kVariantVariable[] = "PAGED_VARIANT";
constexpr char kSplitsVariable[] = "PAGED_SPLITS";
constexpr char kReductionVariable[] = "PAGED_REDUCTION";
constexpr char kPartitionVariable[] = "PAGED_PARTITION";
constexpr char kVerboseVariable[] = "PAGED_VERBOSE";

constexpr std::array kVariants = {Variant::kAuto, Variant::kV1,
                                  Variant::kSplitK, Variant::kThrust,
                                  Variant::kReference};
// kNone is what a plan without splits has; nobody asks for it.
constexpr std::array kReductions = {Reduction::kAuto, Reduction::kSecondPass,
                                    Reduction::kCluster, Reduction::kLastCta};

constexpr std::array kPartitions = {Partition::kAuto, Partition::kWhole,
                                    Partition::kSplits, Partition::kChunks};

constexpr char kAllowedVariants[] = "auto, v1, split_k, thrust or reference";
constexpr char kAllowedPartitions[] = "auto, whole, splits or chunks";
constexpr char kAllowedReductions[] = "auto, second_pass, cluster or last_cta";

absl::Status Refuse(absl::string_view field, absl::string_view allowed,
                    absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be ", allowed, "; got ", value));
}

// The value of that name; `field` is what the error calls it: a field or a
// variable.
template <typename Values>
absl::StatusOr<typename Values::value_type> ParseNameOf(
    const Values& values, absl::string_view allowed, absl::string_view field,
    absl::string_view name) {
  for (auto value : values) {
    if (NameOf(value) == name) return value;
  }
  return Refuse(field, allowed, name);
}

absl::StatusOr<Variant> ParseVariantOf(absl::string_view field,
                                       absl::string_view name) {
  return ParseNameOf(kVariants, kAllowedVariants, field, name);
}

absl::StatusOr<Reduction> ParseReductionOf(absl::string_view field,
                                           absl::string_view name) {
  return ParseNameOf(kReductions, kAllowedReductions, field, name);
}

absl::StatusOr<Partition> ParsePartitionOf(absl::string_view field,
                                           absl::string_view name) {
  return ParseNameOf(kPartitions, kAllowedPartitions, field, name);
}

absl::StatusOr<int> ParseSplitsOf(absl::string_view field,
                                  absl::string_view text) {
  int splits = 0;
  if (absl::SimpleAtoi(text, &splits) && 0 <= splits && splits <= kMaxSplits) {
    return splits;
  }
  return Refuse(field, absl::StrCat("0 (automatic) to ", kMaxSplits), text);
}

std::optional<std::string> LookUp(const EnvLookup& env, const char* variable) {
  std::optional<std::string> value = env(variable);
  if (value.has_value() && value->empty()) return std::nullopt;
  return value;
}

// Takes a value that the code left open from a variable, and notes the source.
template <typename Value>
absl::Status FillField(const EnvLookup& env, const char* variable,
                       absl::StatusOr<Value> (*parse)(absl::string_view field,
                                                      absl::string_view text),
                       std::optional<Value>& value, OptionSource& source) {
  if (value.has_value()) return absl::OkStatus();
  const auto text = LookUp(env, variable);
  if (!text.has_value()) return absl::OkStatus();
  PAGED_ASSIGN_OR_RETURN(value, parse(variable, *text));
  source = OptionSource::kEnvironment;
  return absl::OkStatus();
}

absl::Status FillFromEnvironment(const EnvLookup& env, DecodeOptions& options) {
  PAGED_RETURN_IF_ERROR(FillField(env, kVariantVariable, &ParseVariantOf,
                                  options.variant, options.variant_source));
  PAGED_RETURN_IF_ERROR(FillField(env, kSplitsVariable, &ParseSplitsOf,
                                  options.splits, options.splits_source));
  PAGED_RETURN_IF_ERROR(FillField(env, kReductionVariable, &ParseReductionOf,
                                  options.reduction, options.reduction_source));
  PAGED_RETURN_IF_ERROR(FillField(env, kPartitionVariable, &ParsePartitionOf,
                                  options.partition, options.partition_source));
  if (const auto text = LookUp(env, kVerboseVariable)) {
    if (*text != "dispatch") return Refuse(kVerboseVariable, "dispatch", *text);
    options.print_dispatch = true;
  }
  return absl::OkStatus();
}

// A partition leaves no room for some of the other options.
absl::Status CheckPartition(const DecodeOptions& options) {
  const Partition partition = options.partition.value_or(Partition::kAuto);
  const char* field = options.partition_source == OptionSource::kEnvironment
                          ? kPartitionVariable
                          : "partition";
  if (partition > Partition::kChunks) {
    return Refuse(field, kAllowedPartitions,
                  absl::StrCat("Partition(", static_cast<int>(partition), ")"));
  }
  if (partition == Partition::kAuto) return absl::OkStatus();
  const Variant variant = options.variant.value_or(Variant::kAuto);
  if (variant == Variant::kThrust || variant == Variant::kReference) {
    return Refuse(field, absl::StrCat("auto with variant ", NameOf(variant)),
                  NameOf(partition));
  }
  if ((variant == Variant::kV1) != (partition == Partition::kWhole) &&
      variant != Variant::kAuto) {
    return Refuse(field,
                  variant == Variant::kV1
                      ? "auto or whole with variant v1"
                      : "auto, splits or chunks with variant split_k",
                  NameOf(partition));
  }
  const int splits = options.splits.value_or(0);
  if (partition == Partition::kWhole
          ? splits > 1
          : partition == Partition::kChunks && splits != 0) {
    return Refuse(field, absl::StrCat("auto or splits with splits ", splits),
                  NameOf(partition));
  }
  if (partition == Partition::kChunks &&
      options.reduction == Reduction::kCluster) {
    return Refuse(field, "auto or splits with reduction cluster",
                  NameOf(partition));
  }
  return absl::OkStatus();
}

// What the code says is checked alike: it was not parsed.
absl::Status CheckOptions(const DecodeOptions& options) {
  const Variant variant = options.variant.value_or(Variant::kAuto);
  if (variant > Variant::kReference) {
    return Refuse("variant", kAllowedVariants,
                  absl::StrCat("Variant(", static_cast<int>(variant), ")"));
  }
  if (const Reduction reduction = options.reduction.value_or(Reduction::kAuto);
      reduction == Reduction::kNone || reduction > Reduction::kLastCta) {
    return Refuse("reduction", kAllowedReductions, NameOf(reduction));
  }
  const int splits = options.splits.value_or(0);
  if (splits < 0 || splits > kMaxSplits) {
    return Refuse("splits", absl::StrCat("0 (automatic) to ", kMaxSplits),
                  absl::StrCat(splits));
  }
  if (options.reduction == Reduction::kCluster &&
      splits > kMaxSplitsOfCluster) {
    return Refuse(options.splits_source == OptionSource::kEnvironment
                      ? kSplitsVariable
                      : "splits",
                  absl::StrCat("at most ", kMaxSplitsOfCluster,
                               " with reduction cluster"),
                  absl::StrCat(splits));
  }
  if (options.batch_invariance > BatchInvariance::kOn) {
    return Refuse(
        "batch_invariance", "on or off",
        absl::StrCat("BatchInvariance(",
                     static_cast<int>(options.batch_invariance), ")"));
  }
  if (options.batch_invariance == BatchInvariance::kOn &&
      (variant != Variant::kAuto || splits != 0 ||
       options.partition.value_or(Partition::kAuto) != Partition::kAuto ||
       options.instance.has_value())) {
    return Refuse("batch_invariance",
                  "off with a variant, splits, a partition or an instance",
                  "on");
  }
  const bool can_split =
      variant == Variant::kAuto || variant == Variant::kSplitK;
  if (splits > 1 && !can_split) {
    const bool splits_from_env =
        options.splits_source == OptionSource::kEnvironment;
    const bool variant_from_env =
        options.variant_source == OptionSource::kEnvironment;
    return absl::InvalidArgumentError(absl::StrCat(
        splits_from_env ? kSplitsVariable : "splits", " must be 0 or 1 with ",
        variant_from_env ? "PAGED_VARIANT=" : "variant ", NameOf(variant),
        "; got ", splits));
  }
  return CheckPartition(options);
}

}  // namespace

absl::string_view NameOf(Variant variant) {
  switch (variant) {
    case Variant::kAuto:
      return "auto";
    case Variant::kV1:
      return "v1";
    case Variant::kSplitK:
      return "split_k";
    case Variant::kThrust:
      return "thrust";
    case Variant::kReference:
      return "reference";
  }
  return "unknown";
}

absl::string_view NameOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAuto:
      return "auto";
    case Reduction::kNone:
      return "none";
    case Reduction::kSecondPass:
      return "second_pass";
    case Reduction::kCluster:
      return "cluster";
    case Reduction::kLastCta:
      return "last_cta";
  }
  return "unknown";
}

absl::string_view NameOf(Partition partition) {
  switch (partition) {
    case Partition::kAuto:
      return "auto";
    case Partition::kWhole:
      return "whole";
    case Partition::kSplits:
      return "splits";
    case Partition::kChunks:
      return "chunks";
  }
  return "unknown";
}

absl::string_view NameOf(HeadPacking packing) {
  return packing == HeadPacking::kOn ? "on" : "off";
}

absl::string_view NameOf(BatchInvariance invariance) {
  return invariance == BatchInvariance::kOn ? "on" : "off";
}

absl::StatusOr<Variant> ParseVariant(absl::string_view name) {
  return ParseVariantOf("variant", name);
}

absl::StatusOr<Reduction> ParseReduction(absl::string_view name) {
  return ParseReductionOf("reduction", name);
}

absl::StatusOr<Partition> ParsePartition(absl::string_view name) {
  return ParsePartitionOf("partition", name);
}

absl::StatusOr<HeadPacking> ParseHeadPacking(absl::string_view name) {
  if (name == "on") return HeadPacking::kOn;
  if (name == "off") return HeadPacking::kOff;
  return Refuse("head_packing", "on or off", name);
}

absl::StatusOr<BatchInvariance> ParseBatchInvariance(absl::string_view name) {
  if (name == "on") return BatchInvariance::kOn;
  if (name == "off") return BatchInvariance::kOff;
  return Refuse("batch_invariance", "on or off", name);
}

absl::StatusOr<DecodeOptions> ResolveOptions(DecodeOptions options,
                                             const EnvLookup& env) {
  PAGED_RETURN_IF_ERROR(FillFromEnvironment(env, options));
  PAGED_RETURN_IF_ERROR(CheckOptions(options));
  return options;
}

absl::StatusOr<DecodeOptions> ResolveOptions(const DecodeOptions& options) {
  return ResolveOptions(options,
                        [](const char* variable) -> std::optional<std::string> {
                          const char* value = std::getenv(variable);
                          if (value == nullptr) return std::nullopt;
                          return value;
                        });
}

}  // namespace paged
