// Measures points: a shape, in the ways that were asked for, side by side.
#ifndef PAGED_APPS_POINT_MEASURER_H_
#define PAGED_APPS_POINT_MEASURER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/bench_row.h"
#include "apps/decode_flags.h"
#include "apps/shape_flags.h"
#include "benchmarks/tiers.h"
#include "paged/options.h"

namespace paged {

struct PointTier {
  Variant variant = Variant::kAuto;
  int splits = 0;  // of split_k; 0: automatic
  Reduction reduction = Reduction::kAuto;
  HeadPacking head_packing = HeadPacking::kOn;
  friend bool operator==(const PointTier&, const PointTier&) = default;
};

// Its name and options; the environment has no say.
benchmarks::Tier TierOf(const PointTier& tier);

struct BenchPoint {
  ShapeRequest shape;
  std::vector<PointTier> tiers;
};

struct PointResult {
  std::vector<BenchRow> rows;
  std::vector<std::string> notes;  // on what has no row
  bool has_wrong_result = false;
};

class PointMeasurer {
 public:
  // Unavailable when CUDA was demanded and there is none. 0 threads: one per
  // core.
  static absl::StatusOr<PointMeasurer> Make(BackendChoice choice,
                                            int num_threads);

  // The backend of every tier but the reference, which has the CPU's alone.
  Backend& backend() { return main_->backend(); }
  // Empty, or why there is no CUDA when somebody may wonder.
  const std::string& note() const { return note_; }

  // The environment has no say. InvalidArgument for shapes that cannot be
  // measured, ResourceExhausted for those that do not fit, Cancelled.
  absl::StatusOr<PointResult> Measure(const BenchPoint& point,
                                      const benchmarks::SampleCounts& counts);

 private:
  absl::Status MeasureOn(benchmarks::TierMeasurer& measurer,
                         const ShapeRequest& shape,
                         const std::vector<PointTier>& tiers,
                         const benchmarks::SampleCounts& counts,
                         PointResult& result);

  int num_threads_ = 0;
  std::unique_ptr<benchmarks::TierMeasurer> main_;
  std::unique_ptr<benchmarks::TierMeasurer> cpu_;  // where main_ is not
  std::string note_;
};

// What is left of the tiers where the shape is small enough for them and this
// build has them; the others are named in a note each.
std::vector<PointTier> PracticalTiers(const std::vector<PointTier>& tiers,
                                      const ShapeRequest& shape,
                                      DeviceKind kind,
                                      std::vector<std::string>& notes);

// --backend, --threads, --warmups, --runs and --max_seconds.
FlagTable MeasureFlagTable();
// The flags of a command that measures several batches: its own, --num_seqs
// among them, then those of one shape and of measuring, and --help.
FlagTable SeveralPointsFlagTable(FlagTable own);
absl::StatusOr<PointMeasurer> PointMeasurerFrom(const Flags& flags);
absl::StatusOr<benchmarks::SampleCounts> SampleCountsFrom(const Flags& flags);

}  // namespace paged

#endif  // PAGED_APPS_POINT_MEASURER_H_
