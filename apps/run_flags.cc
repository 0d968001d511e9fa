#include "apps/run_flags.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/decode_flags.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

// --variant=all. Splits and reductions, also those of the environment, are for
// the variants that have them.
std::vector<DecodeOptions> AllVariants(const DecodeOptions& options) {
  std::vector<DecodeOptions> runs;
  for (Variant variant : {Variant::kReference, Variant::kThrust, Variant::kV1,
                          Variant::kSplitK, Variant::kAuto}) {
    DecodeOptions run = options;
    run.variant = variant;
    if (variant != Variant::kSplitK && variant != Variant::kAuto) {
      run.splits = 0;
      run.reduction = Reduction::kAuto;
    }
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

FlagTable RunFlagTable() {
  FlagTable table = {
      {"layer", "NAME", "one layer, as layer11; else all"},
      {"scale", "S", "of the scores; else 1 / sqrt(head_dim)"},
      {"variant", "auto|v1|split_k|thrust|reference|all",
       "what computes it; else $PAGED_VARIANT, else auto"},
      {"block_size", "N", "tokens of a block, 1 to 1024 (16)"},
      BackendFlag(),
  };
  const FlagTable shared = DecodeFlagTable();
  table.insert(table.end(), shared.begin(), shared.end());
  table.push_back({"json", "", "one JSON object per layer and variant"});
  table.push_back({"help", "", "this text"});
  return table;
}

absl::StatusOr<RunRequest> RunRequestFrom(const Flags& flags) {
  RunRequest request;
  PAGED_ASSIGN_OR_RETURN(const DecodeOptions options, DecodeOptionsFrom(flags));
  request.is_all = flags.Text("variant") == "all";
  request.runs = request.is_all ? AllVariants(options) : std::vector{options};
  request.layer = flags.Text("layer");
  PAGED_ASSIGN_OR_RETURN(request.paging.scale, flags.PositiveFloat("scale"));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> block_size,
                         flags.Int("block_size", kBlockSizeRange));
  request.paging.block_size = block_size.value_or(request.paging.block_size);
  PAGED_ASSIGN_OR_RETURN(request.backend, BackendFrom(flags));
  request.is_json = flags.IsOn("json");

  if (flags.positional().size() != 1) {
    return absl::InvalidArgumentError(
        flags.positional().empty()
            ? "a FILE is needed: paged run FILE.safetensors"
            : absl::StrCat("one FILE is needed; got also ",
                           Printable(flags.positional()[1])));
  }
  request.path = flags.positional().front();
  return request;
}

}  // namespace paged
