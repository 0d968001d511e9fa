#include "paged/internal/option_rules.h"

#include "absl/strings/str_cat.h"

namespace paged::internal {
namespace {

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

}  // namespace

absl::Status Refuse(absl::string_view field, absl::string_view allowed,
                    absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be ", allowed, "; got ", value));
}

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

}  // namespace paged::internal
