#include "apps/point_measurer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/measurer.h"
#include "kernels/baseline/thrust_decode.h"
#include "paged/internal/status_macros.h"

namespace paged {

benchmarks::Tier TierOf(const PointTier& tier) {
  DecodeOptions options = benchmarks::AutomaticOptions();
  options.variant = tier.variant;
  options.splits = tier.splits;
  options.reduction = tier.reduction;
  options.head_packing = tier.head_packing;
  return {.name = std::string(NameOf(tier.variant)), .options = options};
}

absl::StatusOr<PointMeasurer> PointMeasurer::Make(BackendChoice choice,
                                                  int num_threads) {
  PointMeasurer measurer;
  measurer.num_threads_ = num_threads;
  if (choice != BackendChoice::kCpu) {
    auto cuda = benchmarks::MakeCudaTierMeasurer();
    if (cuda.ok()) {
      measurer.main_ = *std::move(cuda);
      return measurer;
    }
    const absl::Status error = NoCuda(choice, cuda.status(), measurer.note_);
    if (!error.ok()) return error;
  }
  measurer.main_ = benchmarks::MakeCpuTierMeasurer(num_threads);
  return measurer;
}

absl::Status PointMeasurer::MeasureOn(benchmarks::TierMeasurer& measurer,
                                      const ShapeRequest& shape,
                                      const std::vector<PointTier>& tiers,
                                      const benchmarks::SampleCounts& counts,
                                      PointResult& result) {
  PAGED_ASSIGN_OR_RETURN(const benchmarks::BenchShape bench_shape,
                         BenchShapeOf(shape));
  std::vector<benchmarks::Tier> requests;
  std::vector<int> splits;
  for (const PointTier& tier : tiers) {
    requests.push_back(TierOf(tier));
    splits.push_back(tier.splits);
  }
  PAGED_ASSIGN_OR_RETURN(const std::vector<benchmarks::TierResult> measured,
                         measurer.Measure(bench_shape, requests, counts));
  const std::vector<BenchRow> rows =
      RowsOf(shape, splits, measured, measurer.backend().profile());
  result.rows.insert(result.rows.end(), rows.begin(), rows.end());
  for (const benchmarks::TierResult& tier : measured) {
    if (tier.error.empty()) continue;
    result.notes.push_back(absl::StrCat(tier.name, ": ", tier.error));
    result.has_wrong_result |= tier.max_abs_error > 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<PointResult> PointMeasurer::Measure(
    const BenchPoint& point, const benchmarks::SampleCounts& counts) {
  std::vector<PointTier> here = point.tiers;
  std::vector<PointTier> on_cpu;
  if (backend().profile().kind == DeviceKind::kCuda) {
    const auto is_for_cpu = [](const PointTier& tier) {
      return tier.variant == Variant::kReference;
    };
    std::copy_if(here.begin(), here.end(), std::back_inserter(on_cpu),
                 is_for_cpu);
    std::erase_if(here, is_for_cpu);
  }
  PointResult result;
  PAGED_RETURN_IF_ERROR(MeasureOn(*main_, point.shape, here, counts, result));
  if (on_cpu.empty()) return result;
  if (cpu_ == nullptr) cpu_ = benchmarks::MakeCpuTierMeasurer(num_threads_);
  PAGED_RETURN_IF_ERROR(MeasureOn(*cpu_, point.shape, on_cpu, counts, result));
  return result;
}

std::vector<PointTier> PracticalTiers(const std::vector<PointTier>& tiers,
                                      const ShapeRequest& shape,
                                      DeviceKind kind,
                                      std::vector<std::string>& notes) {
  std::vector<PointTier> left;
  for (const PointTier& tier : tiers) {
    if (tier.variant == Variant::kThrust && kind == DeviceKind::kCpu &&
        !HasThrustOnHost()) {
      notes.push_back("thrust is left out: this build has no Thrust");
      continue;
    }
    const int64_t limit = benchmarks::LargestBytesOf(tier.variant, kind);
    const int64_t kv_bytes = KvBytesOf(shape);
    if (kv_bytes <= limit) {
      left.push_back(tier);
      continue;
    }
    const std::string name(NameOf(tier.variant));
    notes.push_back(absl::StrFormat(
        "%s is left out above %.0f MB of keys and values, as it takes too "
        "long; --tiers=%s measures it",
        name, static_cast<double>(limit) * 1e-6, name));
  }
  return left;
}

FlagTable MeasureFlagTable() {
  return {
      BackendFlag(),
      {"threads", "N", "threads of the CPU, 0: one per core (0)"},
      {"warmups", "N", "calls of each tier that do not count (10)"},
      {"runs", "N", "calls of each tier that are timed (50)"},
      {"max_seconds", "S",
       "time after which a slow tier makes do with 5 runs (2)"},
  };
}

FlagTable SeveralPointsFlagTable(FlagTable own) {
  for (const FlagTable& part :
       {ShapeFlagTable(kMeasuredShape), MeasureFlagTable()}) {
    for (const FlagSpec& spec : part) {
      if (spec.name != "num_seqs") own.push_back(spec);
    }
  }
  own.push_back({"help", "", "this text"});
  return own;
}

absl::StatusOr<PointMeasurer> PointMeasurerFrom(const Flags& flags) {
  PAGED_ASSIGN_OR_RETURN(const BackendChoice choice, BackendFrom(flags));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> num_threads,
                         flags.Int("threads", {.min = 0, .max = 1024}));
  return PointMeasurer::Make(choice, num_threads.value_or(0));
}

absl::StatusOr<benchmarks::SampleCounts> SampleCountsFrom(const Flags& flags) {
  benchmarks::SampleCounts counts;
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> warmups,
                         flags.Int("warmups", {.min = 1, .max = 100'000}));
  PAGED_ASSIGN_OR_RETURN(const std::optional<int> runs,
                         flags.Int("runs", {.min = 1, .max = 100'000}));
  PAGED_ASSIGN_OR_RETURN(const std::optional<float> seconds,
                         flags.PositiveFloat("max_seconds"));
  counts.num_warmups = warmups.value_or(counts.num_warmups);
  counts.num_runs = runs.value_or(counts.num_runs);
  if (seconds.has_value()) counts.max_seconds = double{*seconds};
  return counts;
}

}  // namespace paged
