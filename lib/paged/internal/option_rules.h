// Which options exclude each other, and with which words.
#ifndef PAGED_LIB_PAGED_INTERNAL_OPTION_RULES_H_
#define PAGED_LIB_PAGED_INTERNAL_OPTION_RULES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "paged/options.h"

namespace paged::internal {

// What an error calls an option that the environment set.
inline constexpr char kVariantVariable[] = "PAGED_VARIANT";
inline constexpr char kSplitsVariable[] = "PAGED_SPLITS";
inline constexpr char kReductionVariable[] = "PAGED_REDUCTION";
inline constexpr char kPartitionVariable[] = "PAGED_PARTITION";

inline constexpr char kAllowedVariants[] =
    "auto, v1, split_k, thrust or reference";
inline constexpr char kAllowedPartitions[] = "auto, whole, splits or chunks";
inline constexpr char kAllowedReductions[] =
    "auto, second_pass, cluster or last_cta";

// "<field> must be <allowed>; got <value>".
absl::Status Refuse(absl::string_view field, absl::string_view allowed,
                    absl::string_view value);

// InvalidArgument. What the code says is checked like what was parsed.
absl::Status CheckOptions(const DecodeOptions& options);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_OPTION_RULES_H_
