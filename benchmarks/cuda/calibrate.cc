#include "benchmarks/calibrate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/cuda/timing.h"
#include "kernels/core/partition.h"

namespace paged::benchmarks {
namespace {

constexpr int kRounds = 21;
constexpr double kBytesPerUs = 1e3;  // of 1 GB/s
constexpr InstanceShape kEightWarps = {8, 2};
constexpr InstanceShape kFourWarps = {4, 2};

struct Timed {
  DecodePlan plan;
  double time_us = 0;
  double kv_bytes = 0;
};

class Calibration {
 public:
  Calibration(Backend& backend, cudaStream_t stream)
      : backend_(backend), stream_(stream) {}

  absl::StatusOr<DeviceProfile> Run();

 private:
  // Cold, fp16, head_dim 128.
  absl::StatusOr<Timed> Time(int num_seqs, int context_len, int num_kv_heads,
                             int group, const DecodeOptions& options);
  // What a reduction adds at `splits`, beyond v1's share of the same bytes.
  absl::StatusOr<double> ReductionUs(Reduction reduction, int splits);
  absl::Status MeasureReduction(Reduction reduction, int few, int many,
                                DeviceProfile::ReductionCost& cost);

  Backend& backend_;
  cudaStream_t stream_;
  DeviceProfile profile_;
};

absl::StatusOr<Timed> Calibration::Time(int num_seqs, int context_len,
                                        int num_kv_heads, int group,
                                        const DecodeOptions& options) {
  BenchShape shape;
  shape.context_lens.assign(static_cast<std::size_t>(num_seqs), context_len);
  shape.num_kv_heads = num_kv_heads;
  shape.group = group;
  CudaProblem problem(shape, backend_, stream_);
  absl::StatusOr<PlannedDecode> decode = problem.Plan(options);
  if (!decode.ok()) return decode.status();
  absl::StatusOr<TimedGraph> graph =
      problem.CaptureDecode(*decode, Cache::kCold);
  if (!graph.ok()) return graph.status();
  TimedGraph* const graphs[] = {&*graph};
  return Timed{decode->plan, TimeInTurns(stream_, graphs, kRounds).front(),
               static_cast<double>(shape.kv_bytes())};
}

DecodeOptions Forced(InstanceShape instance, int splits = 1,
                     Reduction reduction = Reduction::kAuto) {
  DecodeOptions options = ForcedOptions(instance, splits, reduction);
  options.early_start = false;
  return options;
}

// The same CTAs with and without a reduction: a sequence in splits, and as many
// sequences as there are splits, each with its share of the tokens.
absl::StatusOr<double> Calibration::ReductionUs(Reduction reduction,
                                                int splits) {
  constexpr int kTokensPerSplit = 512;
  constexpr int kHeads = 2;
  const absl::StatusOr<Timed> split =
      Time(1, kTokensPerSplit * splits, kHeads, 4,
           Forced(kEightWarps, splits, reduction));
  if (!split.ok()) return split.status();
  const absl::StatusOr<Timed> whole =
      Time(splits, kTokensPerSplit, kHeads, 4, Forced(kEightWarps));
  if (!whole.ok()) return whole.status();
  return std::max(0.0, split->time_us - whole->time_us);
}

absl::Status Calibration::MeasureReduction(Reduction reduction, int few,
                                           int many,
                                           DeviceProfile::ReductionCost& cost) {
  const absl::StatusOr<double> at_few = ReductionUs(reduction, few);
  // A device without clusters keeps what it has.
  if (absl::IsInvalidArgument(at_few.status())) return absl::OkStatus();
  if (!at_few.ok()) return at_few.status();
  const absl::StatusOr<double> at_many = ReductionUs(reduction, many);
  if (!at_many.ok()) return at_many.status();
  cost.us_per_split = std::max(0.0, (*at_many - *at_few) / (many - few));
  cost.fixed_us = std::max(0.0, *at_few - cost.us_per_split * few);
  return absl::OkStatus();
}

absl::StatusOr<DeviceProfile> Calibration::Run() {
  profile_ = backend_.profile();
  // The whole chip: what twice the bytes take longer.
  const absl::StatusOr<Timed> half = Time(64, 2048, 8, 4, Forced(kFourWarps));
  if (!half.ok()) return half.status();
  const absl::StatusOr<Timed> full = Time(64, 4096, 8, 4, Forced(kFourWarps));
  if (!full.ok()) return full.status();
  profile_.bandwidth_gb_per_s = (full->kv_bytes - half->kv_bytes) /
                                (full->time_us - half->time_us) / kBytesPerUs;

  // Eight SMs alone, with eight warps each and with four.
  const absl::StatusOr<Timed> eight = Time(1, 32768, 8, 4, Forced(kEightWarps));
  if (!eight.ok()) return eight.status();
  const absl::StatusOr<Timed> four = Time(1, 32768, 8, 4, Forced(kFourWarps));
  if (!four.ok()) return four.status();
  const double rate_per_unit =
      eight->kv_bytes / eight->time_us / kBytesPerUs / 8;
  profile_.knee_units = profile_.bandwidth_gb_per_s / rate_per_unit;
  // Bytes of the tiles that eight warps work on.
  profile_.knee_bytes = 8 * kTileTokens * 128 * 2 * 2;
  profile_.knee_exponent =
      std::clamp(std::log2(four->time_us / eight->time_us), 0.0, 1.0);

  // A launch with next to nothing to read, of one row and of sixteen.
  const absl::StatusOr<Timed> row = Time(1, 16, 8, 1, Forced(kEightWarps));
  if (!row.ok()) return row.status();
  const absl::StatusOr<Timed> rows = Time(1, 16, 8, 16, Forced(kEightWarps));
  if (!rows.ok()) return rows.status();
  profile_.us_per_row = std::max(0.0, (rows->time_us - row->time_us) / 15);
  profile_.v1_fixed_us = row->time_us - profile_.us_per_row;

  absl::Status status =
      MeasureReduction(Reduction::kSecondPass, 4, 16, profile_.second_pass);
  if (status.ok()) {
    status = MeasureReduction(Reduction::kLastCta, 4, 16, profile_.last_cta);
  }
  if (status.ok()) {
    status = MeasureReduction(Reduction::kCluster, 4, 8, profile_.cluster);
  }
  if (!status.ok()) return status;
  if (!(profile_.bandwidth_gb_per_s > 0 && profile_.knee_units > 0)) {
    return absl::InternalError(absl::StrFormat(
        "times contradict each other: bandwidth %g GB/s, knee %g units; is "
        "something else running on the GPU?",
        profile_.bandwidth_gb_per_s, profile_.knee_units));
  }
  profile_.is_estimated = false;
  return profile_;
}

}  // namespace

absl::StatusOr<DeviceProfile> CalibrateCuda() {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
  if (!backend.ok()) return backend.status();
  const OwnedStream stream = MakeStream();
  return Calibration(**backend, stream.get()).Run();
}

}  // namespace paged::benchmarks
