#include "apps/trace_command.h"

#include <optional>
#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/cli.h"
#include "apps/decode_flags.h"
#include "apps/flags.h"
#include "apps/out_file.h"
#include "apps/point_measurer.h"
#include "apps/shape_flags.h"
#include "apps/step_trace.h"
#include "apps/trace_events.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged trace: one decode step, watched, for ui.perfetto.dev

  paged trace --num_seqs=2 --context_len=8192 --out=trace.json

The file holds the stages of the host (validate, plan, lower, launch), the
kernels, and what each SM, or thread, ran when: idle SMs of v1 at a small batch
are empty tracks. Each variant runs once, after runs that warm it. On a GPU,
programs come from kernels that note their times, of fp16 and head_dim 128.

Flags, with their defaults in brackets:
)";

FlagTable TraceFlagTable() {
  FlagTable table = {
      {"out", "FILE", "where the trace goes; needed"},
      {"variant", "all|auto|v1|split_k", "all is v1, then split_k (all)"},
      {"splits", "N", "of split_k, 0 (automatic) to 1024 (0)"},
      BackendFlag(),
      {"threads", "N", "threads of the CPU, 0: one per core (0)"}};
  const FlagTable shape = ShapeFlagTable(kMeasuredShape);
  table.insert(table.end(), shape.begin(), shape.end());
  table.push_back({"help", "", "this text"});
  return table;
}

absl::StatusOr<std::vector<PointTier>> TracedTiersFrom(const Flags& flags) {
  PAGED_ASSIGN_OR_RETURN(
      const std::optional<std::string> variant,
      flags.OneOf("variant", {"all", "auto", "v1", "split_k"}));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> splits,
                         flags.Int("splits", {.min = 0, .max = kMaxSplits}));
  const PointTier split_k = {.variant = Variant::kSplitK,
                             .splits = splits.value_or(0)};
  if (variant == "auto") return std::vector<PointTier>{{}};
  if (variant == "v1") {
    return std::vector<PointTier>{{.variant = Variant::kV1}};
  }
  if (variant == "split_k") return std::vector<PointTier>{split_k};
  return std::vector<PointTier>{{.variant = Variant::kV1}, split_k};
}

}  // namespace

absl::StatusOr<int> TraceCommand(const std::vector<std::string>& args,
                                 std::ostream& out, std::ostream&) {
  const FlagTable table = TraceFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(flags.RefusePositional("trace"));
  const std::string path = flags.Text("out").value_or("");
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "a file is needed for the trace: paged trace --out=FILE");
  }
  PAGED_ASSIGN_OR_RETURN(const ShapeRequest shape,
                         ShapeRequestFrom(flags, kMeasuredShape));
  PAGED_ASSIGN_OR_RETURN(const std::vector<PointTier> tiers,
                         TracedTiersFrom(flags));
  PAGED_ASSIGN_OR_RETURN(const BackendChoice choice, BackendFrom(flags));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> num_threads,
                         flags.Int("threads", {.min = 0, .max = 1024}));
  PAGED_RETURN_IF_ERROR(CheckWritable("out", path));
  PAGED_ASSIGN_OR_RETURN(
      const std::vector<StepTrace> steps,
      TraceSteps(shape, tiers, choice, num_threads.value_or(0)));

  PAGED_RETURN_IF_ERROR(WriteOutFile(path, TraceJson(steps)));
  for (const StepTrace& step : steps) out << SummaryOf(step) << "\n";
  out << Printable(path)
      << ": open it in ui.perfetto.dev or chrome://tracing\n";
  return kExitPassed;
}

}  // namespace paged
