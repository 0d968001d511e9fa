#include "paged/options.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "paged/internal/option_rules.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

using internal::kAllowedPartitions;
using internal::kAllowedReductions;
using internal::kAllowedVariants;
using internal::kPartitionVariable;
using internal::kReductionVariable;
using internal::kSplitsVariable;
using internal::kVariantVariable;
using internal::Refuse;

constexpr char kVerboseVariable[] = "PAGED_VERBOSE";

constexpr std::array kVariants = {Variant::kAuto, Variant::kV1,
                                  Variant::kSplitK, Variant::kThrust,
                                  Variant::kReference};
// kNone is what a plan without splits has; nobody asks for it.
constexpr std::array kReductions = {Reduction::kAuto, Reduction::kSecondPass,
                                    Reduction::kCluster, Reduction::kLastCta};

constexpr std::array kPartitions = {Partition::kAuto, Partition::kWhole,
                                    Partition::kSplits, Partition::kChunks};

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
  PAGED_RETURN_IF_ERROR(internal::CheckOptions(options));
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
