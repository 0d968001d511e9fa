#include "apps/bench_command.h"

#include <optional>
#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "apps/bench_row.h"
#include "apps/cli.h"
#include "apps/decode_flags.h"
#include "apps/flags.h"
#include "apps/interrupt.h"
#include "apps/point_measurer.h"
#include "apps/shape_flags.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kAbout[] =
    R"(paged bench: times one decode step in several ways, side by side

  paged bench --num_seqs=8 --context_len=4096

The tiers take turns with their ceiling, which reads the same blocks and
computes nothing (gather on a GPU, read on a CPU), and every result is compared
with float64. Inputs are cold: they rotate through more memory than the caches
hold. On a GPU a run is a replay of a CUDA graph of several calls; thrust, which
cannot be captured, is timed call by call. PAGED_VARIANT, PAGED_SPLITS and
PAGED_REDUCTION have no say.

Flags, with their defaults in brackets:
)";

FlagTable BenchFlagTable() {
  FlagTable table = ShapeFlagTable(kMeasuredShape);
  const auto append = [&](const FlagTable& more) {
    table.insert(table.end(), more.begin(), more.end());
  };
  append({{"tiers", "NAME,...",
           "of reference, thrust, v1, split_k, auto (all that are quick "
           "enough)"}});
  append(MeasureFlagTable());
  append(
      {{"splits", "N", "of split_k, 0 (automatic) to 1024 (0)"},
       {"reduction", "auto|second_pass|cluster|last_cta", "of split_k (auto)"},
       {"head_packing", "on|off",
        "whether q heads of a group share one read of K and V (on)"},
       {"csv", "", "rows as CSV, as paged scan writes them"},
       {"json", "", "one JSON object per row"},
       {"help", "", "this text"}});
  return table;
}

// The variants of --tiers, or all; with what is forced on those that have it.
absl::StatusOr<std::vector<PointTier>> TiersFrom(const Flags& flags) {
  const std::string names =
      flags.Text("tiers").value_or("reference,thrust,v1,split_k,auto");
  PAGED_ASSIGN_OR_RETURN(const DecodeOptions forced, DecodeOptionsFrom(flags));
  std::vector<PointTier> tiers;
  for (const std::string& name :
       std::vector<std::string>(absl::StrSplit(names, ','))) {
    const absl::StatusOr<Variant> variant = ParseVariant(name);
    if (!variant.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--tiers must be of reference, thrust, v1, split_k and auto; got ",
          Printable(name)));
    }
    PointTier tier = {.variant = *variant};
    if (*variant == Variant::kSplitK) {
      tier.splits = forced.splits.value_or(0);
      tier.reduction = forced.reduction.value_or(Reduction::kAuto);
    }
    if (*variant != Variant::kReference && *variant != Variant::kThrust) {
      tier.head_packing = forced.head_packing;
    }
    tiers.push_back(tier);
  }
  return tiers;
}

std::string Headline(const ShapeRequest& shape, const DeviceProfile& profile) {
  // The name of a CPU says its threads.
  const std::string units =
      profile.kind == DeviceKind::kCpu
          ? ""
          : absl::StrFormat(", %d SMs", profile.num_units);
  return absl::StrFormat(
      "%s%s; %d x %d tokens, %d q heads over %d kv heads, head_dim %d, "
      "%s, block_size %d: %.2f MB of keys and values\n\n",
      profile.name, units, shape.num_seqs, shape.context_len, shape.num_q_heads,
      shape.num_kv_heads, shape.head_dim, NameOf(shape.dtype), shape.block_size,
      static_cast<double>(KvBytesOf(shape)) * 1e-6);
}

}  // namespace

absl::StatusOr<int> BenchCommand(const std::vector<std::string>& args,
                                 std::ostream& out, std::ostream& err) {
  const FlagTable table = BenchFlagTable();
  PAGED_ASSIGN_OR_RETURN(const Flags flags, Flags::Parse(table, args));
  if (flags.IsOn("help")) {
    out << kAbout << DescribeFlags(table);
    return kExitPassed;
  }
  PAGED_RETURN_IF_ERROR(flags.RefusePositional("bench"));
  BenchPoint point;
  PAGED_ASSIGN_OR_RETURN(point.shape, ShapeRequestFrom(flags, kMeasuredShape));
  PAGED_RETURN_IF_ERROR(BenchShapeOf(point.shape).status());
  PAGED_ASSIGN_OR_RETURN(point.tiers, TiersFrom(flags));
  PAGED_ASSIGN_OR_RETURN(benchmarks::SampleCounts counts,
                         SampleCountsFrom(flags));
  PAGED_ASSIGN_OR_RETURN(PointMeasurer measurer, PointMeasurerFrom(flags));
  const DeviceProfile& profile = measurer.backend().profile();

  std::vector<std::string> notes;
  if (!measurer.note().empty()) notes.push_back(measurer.note());
  if (!flags.Text("tiers").has_value()) {
    point.tiers = PracticalTiers(point.tiers, point.shape, profile.kind, notes);
  }
  const InterruptScope interrupts;
  counts.should_stop = &InterruptScope::WasInterrupted;
  PAGED_ASSIGN_OR_RETURN(const PointResult result,
                         measurer.Measure(point, counts));

  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  for (const std::string& note : notes) err << "paged bench: " << note << "\n";
  if (flags.IsOn("csv")) {
    out << CsvHeader();
    for (const BenchRow& row : result.rows) out << CsvLine(row);
  } else if (flags.IsOn("json")) {
    for (const BenchRow& row : result.rows) out << JsonOf(row) << "\n";
  } else {
    out << Headline(point.shape, profile) << BenchTable(result.rows);
  }
  return result.has_wrong_result ? kExitCheckFailed : kExitPassed;
}

}  // namespace paged
