#include "apps/report_command.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "apps/cli.h"
#include "apps/explanation_text.h"
#include "apps/flags.h"
#include "apps/interrupt.h"
#include "apps/out_file.h"
#include "apps/point_measurer.h"
#include "apps/progress.h"
#include "apps/report_page.h"
#include "apps/row_file.h"
#include "apps/version.h"
#include "benchmarks/record_file.h"
#include "paged/internal/status_macros.h"
#include "paged/validate.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged report: one page that shows what this machine does, and why

  paged report --out=report.html --csv=results.csv

The page stands alone: machine, ceilings, times, plots, which SMs (or threads)
work when under v1 and split_k at a small and a large batch, and the decision in
words. Without --csv, what paged scan wrote, a few shapes are measured first.

Flags, with their defaults in brackets:
)";

constexpr IntRange kPositive = {.min = 1,
                                .max = std::numeric_limits<int>::max()};

struct ReportRequest {
  ShapeRequest shape;  // of the timelines
  std::vector<int> num_seqs = {8, 64};
  std::vector<int> context_lens = {128, 512, 2048};
};

FlagTable ReportFlagTable() {
  return SeveralPointsFlagTable({
      {"out", "FILE", "where the page goes; needed"},
      {"csv", "FILE", "rows of paged scan, instead of measuring"},
      {"num_seqs", "N,N", "the small and the large batch (8,64)"},
      {"context_lens", "N,...", "what is measured (128,512,2048)"},
  });
}

absl::StatusOr<ReportRequest> ReportRequestFrom(const Flags& flags) {
  ReportRequest request;
  PAGED_ASSIGN_OR_RETURN(
      request.shape,
      ShapeRequestFrom(flags.Without("num_seqs"), kMeasuredShape));
  PAGED_RETURN_IF_ERROR(BenchShapeOf(request.shape).status());
  PAGED_ASSIGN_OR_RETURN(const std::vector<int> num_seqs,
                         flags.Ints("num_seqs", kPositive));
  if (!num_seqs.empty()) request.num_seqs = num_seqs;
  PAGED_ASSIGN_OR_RETURN(const std::vector<int> context_lens,
                         flags.Ints("context_lens", kPositive));
  if (!context_lens.empty()) request.context_lens = context_lens;
  return request;
}

// Of the backend, heads, dtype and block_size that the report is about: a GPU's
// file has rows of the CPU beside the reference.
absl::StatusOr<std::vector<BenchRow>> RowsOfFile(const std::string& path,
                                                 const ShapeRequest& shape,
                                                 DeviceKind kind) {
  PAGED_ASSIGN_OR_RETURN(std::vector<BenchRow> rows, ReadRows(path));
  const char* backend = kind == DeviceKind::kCpu ? "cpu" : "cuda";
  std::erase_if(rows, [&](const BenchRow& row) {
    return row.backend != backend || row.num_q_heads != shape.num_q_heads ||
           row.num_kv_heads != shape.num_kv_heads ||
           row.head_dim != shape.head_dim ||
           row.block_size != shape.block_size ||
           row.dtype != NameOf(shape.dtype);
  });
  if (!rows.empty()) return rows;
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s has no rows of %s with %d q heads over %d kv heads, head_dim %d, %s, "
      "block_size %d",
      Printable(path), backend, shape.num_q_heads, shape.num_kv_heads,
      shape.head_dim, NameOf(shape.dtype), shape.block_size));
}

absl::StatusOr<std::vector<BenchRow>> MeasureRows(
    const ReportRequest& request, const benchmarks::SampleCounts& counts,
    PointMeasurer& measurer, std::ostream& err) {
  std::vector<BenchRow> rows;
  Progress progress(err, static_cast<int>(request.num_seqs.size() *
                                          request.context_lens.size()));
  for (int num_seqs : request.num_seqs) {
    for (int context_len : request.context_lens) {
      BenchPoint point = {.shape = request.shape, .tiers = {}};
      point.shape.num_seqs = num_seqs;
      point.shape.context_len = context_len;
      std::vector<std::string> notes;
      point.tiers =
          PracticalTiers({{.variant = Variant::kThrust},
                          {.variant = Variant::kV1},
                          {.variant = Variant::kSplitK},
                          {.variant = Variant::kAuto}},
                         point.shape, measurer.backend().profile().kind, notes);
      const std::string title = absl::StrCat(num_seqs, " x ", context_len);
      progress.Begin(title);
      PAGED_ASSIGN_OR_RETURN(const PointResult result,
                             measurer.Measure(point, counts));
      rows.insert(rows.end(), result.rows.begin(), result.rows.end());
      progress.Done(title);
    }
  }
  return rows;
}

double HighestCeiling(const std::vector<BenchRow>& rows) {
  double highest = 0;
  for (const BenchRow& row : rows) {
    if (row.is_ceiling()) highest = std::max(highest, row.gb_per_s);
  }
  return highest;
}

std::vector<std::pair<std::string, std::string>> MachineOf(
    const DeviceProfile& profile, const std::vector<BenchRow>& rows) {
  const bool is_cpu = profile.kind == DeviceKind::kCpu;
  const std::string build(absl::StripSuffix(VersionText(), "\n"));
  std::vector<std::pair<std::string, std::string>> machine = {
      {"device", profile.name},
      {"processor", benchmarks::ProcessorModel()},
      {is_cpu ? "threads" : "SMs", absl::StrCat(profile.num_units)}};
  if (!is_cpu) machine.emplace_back("driver", benchmarks::DriverVersion());
  const double ceiling = HighestCeiling(rows);
  if (ceiling > 0) {
    machine.emplace_back(
        is_cpu ? "ceiling: reading blocks" : "ceiling: gathering blocks",
        absl::StrFormat("%.0f GB/s at best, as measured", ceiling));
  }
  machine.emplace_back(
      "ceiling of the cost model",
      absl::StrFormat("%.0f GB/s%s", profile.bandwidth_gb_per_s,
                      profile.is_estimated ? ", estimated" : ""));
  machine.emplace_back("program", absl::StrReplaceAll(build, {{"\n", "; "}}));
  machine.emplace_back("rows of commit",
                       rows.empty() ? "-" : rows.front().commit);
  machine.emplace_back(
      "page made",
      absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::Now(), absl::UTCTimeZone()));
  return machine;
}

absl::StatusOr<std::string> DecisionInWords(const ShapeRequest& shape,
                                            const DeviceProfile& profile) {
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem,
                         ValidateShape(DecodeShapeOf(shape)));
  PAGED_ASSIGN_OR_RETURN(
      const Explanation explanation,
      Explain(problem, profile, TierOf(PointTier{}).options));
  return absl::StrFormat("%d × %d: %s.", shape.num_seqs, shape.context_len,
                         ReasonOf(explanation, profile));
}

// Everything that rows do not say.
absl::Status Explore(const ReportRequest& request, BackendChoice choice,
                     int num_threads, ReportData& data) {
  for (int num_seqs : request.num_seqs) {
    ShapeRequest shape = request.shape;
    shape.num_seqs = num_seqs;
    PAGED_ASSIGN_OR_RETURN(const std::string words,
                           DecisionInWords(shape, data.profile));
    data.decisions.push_back(words);
    PAGED_ASSIGN_OR_RETURN(
        std::vector<StepTrace> steps,
        TraceSteps(shape,
                   {{.variant = Variant::kV1}, {.variant = Variant::kSplitK}},
                   choice, num_threads));
    for (StepTrace& step : steps) data.steps.push_back(std::move(step));
  }
  PAGED_ASSIGN_OR_RETURN(data.map, MakeSweepMap(request.shape, data.profile,
                                                TierOf(PointTier{}).options));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> ReportCommand(const std::vector<std::string>& args,
                                  std::ostream& out, std::ostream& err) {
  const FlagTable table = ReportFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(flags.RefusePositional("report"));
  const std::string path = flags.Text("out").value_or("");
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "a file is needed for the page: paged report --out=FILE");
  }
  PAGED_ASSIGN_OR_RETURN(const ReportRequest request, ReportRequestFrom(flags));
  PAGED_ASSIGN_OR_RETURN(benchmarks::SampleCounts counts,
                         SampleCountsFrom(flags));
  PAGED_ASSIGN_OR_RETURN(const BackendChoice choice, BackendFrom(flags));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> num_threads,
                         flags.Int("threads", {.min = 0, .max = 1024}));
  PAGED_RETURN_IF_ERROR(CheckWritable("out", path));
  PAGED_ASSIGN_OR_RETURN(PointMeasurer measurer, PointMeasurerFrom(flags));

  ReportData data;
  data.profile = measurer.backend().profile();
  data.shape = request.shape;
  const InterruptScope interrupts;
  counts.should_stop = &InterruptScope::WasInterrupted;
  if (const auto csv = flags.Text("csv"); csv.has_value()) {
    PAGED_ASSIGN_OR_RETURN(data.rows,
                           RowsOfFile(*csv, request.shape, data.profile.kind));
  } else {
    PAGED_ASSIGN_OR_RETURN(data.rows,
                           MeasureRows(request, counts, measurer, err));
  }
  data.machine = MachineOf(data.profile, data.rows);
  PAGED_RETURN_IF_ERROR(
      Explore(request, choice, num_threads.value_or(0), data));
  PAGED_RETURN_IF_ERROR(WriteOutFile(path, ReportPage(data)));
  out << Printable(path) << "\n";
  return kExitPassed;
}

}  // namespace paged
