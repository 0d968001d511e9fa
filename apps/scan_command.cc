#include "apps/scan_command.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "apps/bench_row.h"
#include "apps/cli.h"
#include "apps/flags.h"
#include "apps/interrupt.h"
#include "apps/point_measurer.h"
#include "apps/progress.h"
#include "apps/row_file.h"
#include "apps/scan_points.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged scan: measures many shapes into a CSV file

  paged scan --csv=results.csv --over=context,splits --num_seqs=8,64

  context     128, 256, ... 4096 tokens, every tier; --long goes on to 131072
  batch       1, 2, ... 256 sequences
  splits      split_k with 1, 2, ... 64 splits beside the automatic choice
  block_size  1 to 256 tokens
  group       1, 2, 3, ... 16 q heads per kv head
  grid        batch by context with forced splits: how good the choice is

All but batch and grid are repeated for each of --num_seqs. A row is written as
soon as its shape is measured; Ctrl-C leaves a file that --resume goes on with.
Each row is what paged bench would print; its --help says how it is measured.

Flags, with their defaults in brackets:
)";

FlagTable ScanFlagTable() {
  return SeveralPointsFlagTable({
      {"csv", "FILE", "where the rows go; needed"},
      {"over", "NAME,...",
       "of context, batch, splits, block_size, group, grid, all (context)"},
      {"num_seqs", "N,...", "batch sizes (8,64)"},
      {"long", "", "contexts up to 131072"},
      {"resume", "", "keeps the rows of FILE and measures what it lacks"},
      {"overwrite", "", "replaces FILE"},
  });
}

absl::StatusOr<std::vector<BenchPoint>> PointsFrom(const Flags& flags) {
  ScanRequest request;
  PAGED_ASSIGN_OR_RETURN(
      request.shape,
      ShapeRequestFrom(flags.Without("num_seqs"), kMeasuredShape));
  PAGED_RETURN_IF_ERROR(BenchShapeOf(request.shape).status());
  PAGED_ASSIGN_OR_RETURN(
      const std::vector<int> num_seqs,
      flags.Ints("num_seqs",
                 {.min = 1, .max = std::numeric_limits<int>::max()}));
  if (!num_seqs.empty()) request.num_seqs = num_seqs;
  if (const auto over = flags.Text("over"); over.has_value()) {
    request.over = absl::StrSplit(*over, ',');
  }
  request.is_long = flags.IsOn("long");
  return ScanPoints(request);
}

absl::StatusOr<RowFile> RowFileFrom(const Flags& flags) {
  const std::optional<std::string> path = flags.Text("csv");
  if (!path.has_value() || path->empty()) {
    return absl::InvalidArgumentError(
        "a file is needed for the rows: paged scan --csv=FILE");
  }
  if (flags.IsOn("resume") && flags.IsOn("overwrite")) {
    return absl::InvalidArgumentError(
        "--resume and --overwrite exclude each other");
  }
  return RowFile::Open(*path, flags.IsOn("resume") ? ExistingRows::kKeep
                              : flags.IsOn("overwrite")
                                  ? ExistingRows::kDiscard
                                  : ExistingRows::kRefuse);
}

std::string TitleOf(const ShapeRequest& shape) {
  return absl::StrFormat("%d x %d, %d x %d heads, block_size %d",
                         shape.num_seqs, shape.context_len, shape.num_kv_heads,
                         shape.num_q_heads / shape.num_kv_heads,
                         shape.block_size);
}

// "8 x 1024 ...: read 523.2 us, v1 441.5 us (0.84)"
std::string LineOf(const ShapeRequest& shape,
                   const std::vector<BenchRow>& rows) {
  std::string line = absl::StrCat(TitleOf(shape), ":");
  for (const BenchRow& row : rows) {
    absl::StrAppendFormat(
        &line, "%s %s%s %.1f us", &row == &rows.front() ? "" : ",", row.tier,
        row.requested_splits == 0 ? ""
                                  : absl::StrCat("/", row.requested_splits),
        row.median_us);
  }
  return line;
}

class Scanner {
 public:
  Scanner(PointMeasurer& measurer, RowFile& file, std::ostream& err)
      : measurer_(measurer), file_(file), err_(err) {}

  // Cancelled when the user had enough; the file is whole then too.
  absl::Status Run(const std::vector<BenchPoint>& points,
                   const benchmarks::SampleCounts& counts) {
    Progress progress(err_, static_cast<int>(points.size()));
    for (const BenchPoint& point : points) {
      const BenchPoint missing = Missing(point);
      if (missing.tiers.empty()) {
        progress.Skip();
        continue;
      }
      progress.Begin(TitleOf(point.shape));
      const absl::StatusOr<PointResult> result =
          measurer_.Measure(missing, counts);
      if (absl::IsResourceExhausted(result.status())) {
        progress.Done(absl::StrCat(TitleOf(point.shape),
                                   ": left out: ", result.status().message()));
        continue;
      }
      PAGED_RETURN_IF_ERROR(result.status());
      PAGED_RETURN_IF_ERROR(file_.Add(result->rows));
      has_wrong_result_ |= result->has_wrong_result;
      progress.Done(LineOf(point.shape, result->rows));
      NoteOnce(result->notes);
    }
    return absl::OkStatus();
  }

  bool has_wrong_result() const { return has_wrong_result_; }

 private:
  // The tiers that are practical and not in the file.
  BenchPoint Missing(const BenchPoint& point) {
    const DeviceProfile& profile = measurer_.backend().profile();
    BenchPoint missing = point;
    std::vector<std::string> notes;
    missing.tiers =
        PracticalTiers(point.tiers, point.shape, profile.kind, notes);
    std::erase_if(missing.tiers, [&](const PointTier& tier) {
      const std::string name(NameOf(tier.variant));
      BenchRow row = RowOfShape(point.shape, name, tier.splits, profile);
      if (file_.Has(row)) return true;
      // The reference runs on the CPU alone.
      row = RowOfShape(point.shape, name, tier.splits, cpu_profile_);
      return tier.variant == Variant::kReference && file_.Has(row);
    });
    return missing;
  }

  void NoteOnce(const std::vector<std::string>& notes) {
    for (const std::string& note : notes) {
      if (noted_.insert(note).second) err_ << "paged scan: " << note << "\n";
    }
  }

  PointMeasurer& measurer_;
  RowFile& file_;
  std::ostream& err_;
  DeviceProfile cpu_profile_ = CpuProfile();
  std::set<std::string> noted_;
  bool has_wrong_result_ = false;
};

}  // namespace

absl::StatusOr<int> ScanCommand(const std::vector<std::string>& args,
                                std::ostream& out, std::ostream& err) {
  const FlagTable table = ScanFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(flags.RefusePositional("scan"));
  PAGED_ASSIGN_OR_RETURN(const std::vector<BenchPoint> points,
                         PointsFrom(flags));
  PAGED_ASSIGN_OR_RETURN(benchmarks::SampleCounts counts,
                         SampleCountsFrom(flags));
  PAGED_ASSIGN_OR_RETURN(PointMeasurer measurer, PointMeasurerFrom(flags));
  PAGED_ASSIGN_OR_RETURN(RowFile file, RowFileFrom(flags));
  if (!measurer.note().empty())
    err << "paged scan: " << measurer.note() << "\n";

  const InterruptScope interrupts;
  counts.should_stop = &InterruptScope::WasInterrupted;
  Scanner scanner(measurer, file, err);
  const absl::Status status = scanner.Run(points, counts);
  const std::string path = Printable(*flags.Text("csv"));
  if (absl::IsCancelled(status)) {
    return absl::CancelledError(
        absl::StrCat("interrupted; ", path, " holds ", file.num_rows(),
                     " rows, and the same command with --resume goes on"));
  }
  PAGED_RETURN_IF_ERROR(status);
  out << path << ": " << file.num_rows() << " rows\n";
  return scanner.has_wrong_result() ? kExitCheckFailed : kExitPassed;
}

}  // namespace paged
