#include "apps/explain_command.h"

#include <memory>
#include <optional>
#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/cli.h"
#include "apps/decode_flags.h"
#include "apps/explanation_text.h"
#include "apps/flags.h"
#include "apps/grid_picture.h"
#include "apps/lens_flag.h"
#include "apps/mask_flags.h"
#include "apps/shape_flags.h"
#include "apps/sweep_map.h"
#include "apps/terminal.h"
#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"
#include "paged/internal/status_macros.h"
#include "paged/options.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged explain: which kernel would run a shape, and why

  paged explain --num_seqs=8 --context_len=4096 --num_q_heads=32 \
      --num_kv_heads=8 --head_dim=128 --device=h200
  paged explain --sweep --device=h100

Flags, with their defaults in brackets:
)";

FlagTable ExplainFlagTable() {
  FlagTable table = ShapeFlagTable({});
  const FlagTable masks = MaskFlagTable();
  table.insert(table.end(), masks.begin(), masks.end());
  table.push_back({"device", "this|h200|h100|rtx3090|cpu",
                   "this is the GPU when there is one, else the CPU (this)"});
  table.push_back({"variant", "auto|v1|split_k|thrust|reference",
                   "what to explain; else $PAGED_VARIANT, else auto"});
  const FlagTable shared = DecodeFlagTable();
  table.insert(table.end(), shared.begin(), shared.end());
  table.push_back({"lens", "LIST",
                   "a ragged batch, as 131072,63x1024, in place of num_seqs "
                   "and context_len; shows its schedule"});
  table.push_back({"sweep", "",
                   "the choice over batches of 1 to 256 and contexts of 128 to "
                   "131072, as a map"});
  table.push_back({"json", "",
                   "one JSON object: chosen, decided_by, all candidates; with "
                   "--sweep one per cell"});
  table.push_back({"help", "", "this text"});
  return table;
}

absl::StatusOr<DeviceProfile> ProfileFrom(const Flags& flags) {
  PAGED_ASSIGN_OR_RETURN(
      const std::optional<std::string> device,
      flags.OneOf("device", {"this", "h200", "h100", "rtx3090", "cpu"}));
  if (device.value_or("this") != "this") return FindProfile(*device);
  const absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend();
  if (cuda.ok()) return (*cuda)->profile();
  return CpuProfile();
}

}  // namespace

absl::StatusOr<int> ExplainCommand(const std::vector<std::string>& args,
                                   std::ostream& out, std::ostream& err) {
  const FlagTable table = ExplainFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(flags.RefusePositional("explain"));
  PAGED_ASSIGN_OR_RETURN(const ShapeRequest request,
                         ShapeRequestFrom(flags, {}));
  DecodeShape shape = DecodeShapeOf(request);
  std::vector<int32_t> lens;
  if (const auto text = flags.Text("lens"); text.has_value()) {
    for (const char* other : {"num_seqs", "context_len", "sweep", "json"}) {
      if (flags.Text(other).has_value() || flags.IsOn(other)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--", other, " must be left out with --lens; got both"));
      }
    }
    PAGED_ASSIGN_OR_RETURN(lens, ParseLens(*text));
    SetLens(lens, shape);
  }
  PAGED_RETURN_IF_ERROR(ReadMaskFlags(flags, shape));
  PAGED_ASSIGN_OR_RETURN(DecodeOptions options, DecodeOptionsFrom(flags));
  if (flags.Text("variant") == "all") {
    return absl::InvalidArgumentError(
        "--variant must be auto, v1, split_k, thrust or reference; got all");
  }
  PAGED_ASSIGN_OR_RETURN(options, ResolveFlags(options));
  PAGED_ASSIGN_OR_RETURN(const DeviceProfile profile, ProfileFrom(flags));
  if (flags.IsOn("sweep")) {
    if (shape.window != 0 || shape.attention_chunk != 0 ||
        shape.sink_tokens != 0) {
      return absl::InvalidArgumentError(
          "--sweep maps whole contexts: --window, --attention_chunk and "
          "--sink_tokens must be left out");
    }
    PAGED_ASSIGN_OR_RETURN(const SweepMap map,
                           MakeSweepMap(request, profile, options));
    out << (flags.IsOn("json") ? JsonLinesOf(map)
                               : TextOf(map, profile, WantsColour(out)));
    return kExitPassed;
  }
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, ValidateShape(shape));
  PAGED_ASSIGN_OR_RETURN(const Explanation explanation,
                         Explain(problem, profile, options));
  // As PlanDecode does, for the one decision of this command.
  if (options.print_dispatch) {
    err << "paged: " << ToString(explanation.chosen) << "\n";
  }
  if (flags.IsOn("json")) {
    out << JsonOf(explanation) << "\n";
  } else {
    out << TableOf(explanation, profile)
        << GridPicture(explanation.chosen, profile);
  }
  if (!lens.empty()) {
    PAGED_ASSIGN_OR_RETURN(const std::string schedule,
                           ScheduleText(explanation.chosen, lens));
    out << schedule;
  }
  return kExitPassed;
}

}  // namespace paged
