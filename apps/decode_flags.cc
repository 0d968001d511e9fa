#include "apps/decode_flags.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

// A flag's error, which a parser of the library knows by the field's name.
absl::Status NameFlag(const absl::Status& error) {
  return absl::Status(error.code(), absl::StrCat("--", error.message()));
}

bool BeginsWithAField(absl::string_view message) {
  for (absl::string_view field : {"variant ", "splits ", "reduction ",
                                  "partition ", "batch_invariance "}) {
    if (absl::StartsWith(message, field)) return true;
  }
  return false;
}

}  // namespace

FlagTable DecodeFlagTable() {
  return {
      {"splits", "N",
       "splits per sequence, 0 (automatic) to 1024; else $PAGED_SPLITS, else "
       "0"},
      {"reduction", "auto|second_pass|cluster|last_cta",
       "how splits are merged; else $PAGED_REDUCTION, else auto"},
      {"partition", "auto|whole|splits|chunks",
       "how tiles are shared out; else $PAGED_PARTITION, else auto"},
      {"head_packing", "on|off",
       "whether q heads of a group share one read of K and V (on)"},
      {"batch_invariance", "on|off",
       "whether a sequence's bits are the same in every batch (off)"},
  };
}

absl::StatusOr<DecodeOptions> DecodeOptionsFrom(const Flags& flags) {
  DecodeOptions options;
  const std::optional<std::string> variant = flags.Text("variant");
  if (variant.has_value() && *variant != "all") {
    const absl::StatusOr<Variant> parsed = ParseVariant(*variant);
    if (!parsed.ok()) return NameFlag(parsed.status());
    options.variant = *parsed;
  }
  PAGED_ASSIGN_OR_RETURN(options.splits,
                         flags.Int("splits", {.min = 0, .max = kMaxSplits}));
  if (const auto text = flags.Text("reduction"); text.has_value()) {
    const absl::StatusOr<Reduction> parsed = ParseReduction(*text);
    if (!parsed.ok()) return NameFlag(parsed.status());
    options.reduction = *parsed;
  }
  if (const auto text = flags.Text("partition"); text.has_value()) {
    const absl::StatusOr<Partition> parsed = ParsePartition(*text);
    if (!parsed.ok()) return NameFlag(parsed.status());
    options.partition = *parsed;
  }
  if (const auto text = flags.Text("head_packing"); text.has_value()) {
    const absl::StatusOr<HeadPacking> parsed = ParseHeadPacking(*text);
    if (!parsed.ok()) return NameFlag(parsed.status());
    options.head_packing = *parsed;
  }
  if (const auto text = flags.Text("batch_invariance"); text.has_value()) {
    const absl::StatusOr<BatchInvariance> parsed = ParseBatchInvariance(*text);
    if (!parsed.ok()) return NameFlag(parsed.status());
    options.batch_invariance = *parsed;
  }
  return options;
}

FlagSpec BackendFlag() {
  return {"backend", "auto|cpu|cuda",
          "auto is CUDA when there is a GPU (auto)"};
}

absl::StatusOr<BackendChoice> BackendFrom(const Flags& flags) {
  PAGED_ASSIGN_OR_RETURN(const std::optional<std::string> backend,
                         flags.OneOf("backend", {"auto", "cpu", "cuda"}));
  if (backend == "cpu") return BackendChoice::kCpu;
  if (backend == "cuda") return BackendChoice::kCuda;
  return BackendChoice::kAuto;
}

absl::Status NoCuda(BackendChoice choice, const absl::Status& error,
                    std::string& note) {
  if (choice == BackendChoice::kCuda) {
    // No device for this program, whether it was built without CUDA or the
    // machine has none.
    return absl::UnavailableError(
        absl::StrCat("--backend=cuda: ", error.message()));
  }
  if (error.code() != absl::StatusCode::kUnimplemented) {
    note = absl::StrCat("no GPU: ", error.message(), "; the CPU runs");
  }
  return absl::OkStatus();
}

absl::StatusOr<DecodeOptions> ResolveFlags(const DecodeOptions& options) {
  absl::StatusOr<DecodeOptions> resolved = ResolveOptions(options);
  if (resolved.ok()) return resolved;
  // A field that is named was given here; the environment's have their
  // variables' names already, but for the reduction.
  const absl::Status error(
      resolved.status().code(),
      absl::StrReplaceAll(
          resolved.status().message(),
          {{" with variant ", " with --variant="},
           {" with reduction ", options.reduction.has_value()
                                    ? " with --reduction="
                                    : " with PAGED_REDUCTION="}}));
  return BeginsWithAField(error.message()) ? NameFlag(error) : error;
}

}  // namespace paged
