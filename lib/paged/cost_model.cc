#include "paged/internal/cost_model.h"

#include <algorithm>
#include <cmath>

#include "kernels/core/partition.h"
#include "paged/internal/read_cost.h"

namespace paged::internal {
namespace {

// CUDA allots registers to a warp in units of 8 per thread.
constexpr int kRegisterUnit = 8;

constexpr double kBytesPerUs = 1e3;  // of 1 GB/s

template <typename Int>
Int CeilDiv(Int a, Int b) {
  return (a + b - 1) / b;
}

// Tiles that an instance's warps handle side by side.
int TilesPerRound(const DecodePlan& plan) {
  return plan.instance.warps *
         InstanceConfig::TilesPerStage(SizeOf(plan.shape.kv_dtype),
                                       plan.instance.head_dim,
                                       plan.instance.max_rows);
}

// The warps of the last CTA to arrive merge a row each, then the next: rounds
// after the first (H200, 1 x 32768 in 16 splits of 8 warps, last CTA and second
// pass: 38.2 and 39.3 us with 4 rows, 43.1 and 44.2 with 16, 50.4 and 47.4 with
// 32).
constexpr double kUsPerMergeRound = 1.7;

int MergeRounds(const DecodePlan& plan) {
  return CeilDiv(plan.rows_per_item, std::max(1, plan.instance.warps)) - 1;
}

uint32_t TilesRead(const DecodeShape& shape, int context_len) {
  return static_cast<uint32_t>(NumTiles(TokensRead(shape, context_len)));
}

// The larger of two limits; close to each other they hinder each other.
double RoundedMax(double a, double b, double exponent) {
  const double larger = std::max(a, b);
  const double smaller = std::min(a, b);
  if (exponent == 0 || smaller == 0) return larger;
  const double ratio = smaller / larger;
  return larger * std::pow(1 + std::pow(ratio, exponent), 1 / exponent);
}

const DeviceProfile::ReductionCost& CostOf(Reduction reduction,
                                           const DeviceProfile& profile) {
  switch (reduction) {
    case Reduction::kCluster:
      return profile.cluster;
    case Reduction::kLastCta:
      return profile.last_cta;
    default:
      return profile.second_pass;
  }
}

}  // namespace

int ResidentCtas(const InstanceConfig& config, int registers_per_thread,
                 const DeviceProfile& profile) {
  const int64_t shared_bytes = config.shared_bytes();
  if (shared_bytes > profile.shared_bytes_per_cta) return 0;
  const int64_t registers =
      CeilDiv(registers_per_thread, kRegisterUnit) * kRegisterUnit;
  return static_cast<int>(
      std::min({int64_t{profile.max_ctas_per_unit},
                int64_t{profile.max_threads_per_unit} / config.threads(),
                profile.registers_per_unit / (registers * config.threads()),
                profile.shared_bytes_per_unit /
                    (shared_bytes + profile.reserved_shared_per_cta)}));
}

int ExpectedTokensRead(const DecodeShape& shape) {
  return TokensRead(shape, shape.expected_context_len);
}

int TokensToSplit(const DecodeShape& shape) {
  return TokensRead(shape, shape.lengths == LengthSpread::kRagged
                               ? shape.max_context_len
                               : shape.expected_context_len);
}

int64_t KvBytes(const DecodeShape& shape) {
  return int64_t{shape.num_seqs} * ExpectedTokensRead(shape) *
         shape.num_kv_heads * BytesPerToken(shape);
}

PlanPricer::PlanPricer(const DeviceProfile& profile)
    : profile_(&profile),
      us_per_byte_(1 / (profile.bandwidth_gb_per_s * kBytesPerUs)) {}

const PlanPricer::Shared& PlanPricer::SharedOf(const DecodePlan& plan) {
  if (has_shared_) return shared_;
  has_shared_ = true;
  const DecodeShape& shape = plan.shape;
  shared_ = {
      .expected_tiles = TilesRead(shape, shape.expected_context_len),
      .longest_tiles = TilesRead(shape, shape.max_context_len),
      .tiles_per_round = static_cast<uint32_t>(TilesPerRound(plan)),
      .memory_bytes = BytesRead(plan),
      .bytes_per_tile = static_cast<double>(kTileTokens * BytesPerToken(shape)),
      .launch_us =
          profile_->v1_fixed_us + profile_->us_per_row * plan.rows_per_item,
      .row_split_us = profile_->us_per_row_split * plan.rows_per_item,
      .last_cta_us = kUsPerMergeRound * MergeRounds(plan)};
  shared_.floor_us = LaunchUs(true, 1) + UsOf(shared_.memory_bytes);
  return shared_;
}

double PlanPricer::KneeOf(const DecodePlan& plan, int64_t ctas_at_once) {
  const auto i = static_cast<std::size_t>(ctas_at_once);
  if (i >= shared_.knees.size()) {
    return ComputeKnee(plan, *profile_, ctas_at_once);
  }
  double& knee = shared_.knees[i];
  if (knee == 0) knee = ComputeKnee(plan, *profile_, ctas_at_once);
  return knee;
}

// Bytes that a CTA takes the time of, of a sequence of so many tiles. Warps go
// through its tiles in rounds, and in the last those without a tile wait: the
// others are only a little faster for it (H200, 2 x 500 with 8 kv heads of 16 q
// heads and head_dim 64, 32 tiles for CTAs of 8 warps: 5.8 and 6.0 us in 2 and
// 3 splits of two rounds, 5.3 and 5.4 in 4 and 6 of one).
double PlanPricer::BytesPerCta(uint32_t sequence_tiles, int num_splits) const {
  constexpr double kCostOfIdleWarps = 0.75;
  const uint32_t tiles =
      CeilDiv(sequence_tiles, static_cast<uint32_t>(num_splits));
  double tiles_worth = tiles;
  if (const uint32_t round = shared_.tiles_per_round; round > 0) {
    const uint32_t idle = CeilDiv(tiles, round) * round - tiles;
    tiles_worth += kCostOfIdleWarps * idle;
  }
  return tiles_worth * shared_.bytes_per_tile;
}

// What the busiest unit would read while the memory is saturated: its bytes
// times the units that it takes. Its CTAs come in rounds, of which the last may
// be small. Chunks are small, and given to whoever is free: no unit has more
// than its share and a bit.
double PlanPricer::BytesOfBusiestUnit(const DecodePlan& plan) {
  // Of an empty batch, none.
  const int64_t ctas = CeilDiv(plan.num_ctas, int64_t{profile_->num_units});
  const int64_t at_once = std::clamp<int64_t>(ctas, 1, plan.resident_ctas);
  if (plan.partition == Partition::kChunks) {
    return static_cast<double>(plan.kv_bytes) / profile_->num_units *
           KneeOf(plan, at_once);
  }
  const int64_t last = ctas % at_once;
  const double full_rounds = static_cast<double>(ctas - last);
  return BytesPerCta(shared_.expected_tiles, plan.num_splits) *
         (full_rounds * KneeOf(plan, at_once) +
          (last == 0 ? 0 : static_cast<double>(last) * KneeOf(plan, last)));
}

void PlanPricer::SetGather(const DecodePlan& plan) {
  if (plan.partition == partition_ && plan.num_splits == num_splits_) return;
  SharedOf(plan);
  partition_ = plan.partition;
  num_splits_ = plan.num_splits;
  gather_ = {.memory = shared_.memory_bytes * RereadsOf(plan, *profile_),
             .busiest_unit = BytesOfBusiestUnit(plan)};
  // The longest sequence of a ragged batch ends alone.
  if (plan.shape.lengths == LengthSpread::kRagged &&
      plan.partition != Partition::kChunks) {
    gather_.longest_sequence =
        BytesPerCta(shared_.longest_tiles, plan.num_splits) * KneeOf(plan, 1);
  }
  gather_.least_us = UsOf(std::max(
      {gather_.memory, gather_.busiest_unit, gather_.longest_sequence}));
  gather_.floor_us = LaunchUs(true, plan.waves) + gather_.least_us;
}

double PlanPricer::LaunchUs(bool starts_early, double waves) const {
  const double more_waves = std::max(0.0, std::ceil(waves) - 1);
  return shared_.launch_us - (starts_early ? profile_->early_start_us : 0) +
         profile_->us_per_wave * more_waves;
}

// Each partial is written once and read once; a cluster's stay on the chip.
double PlanPricer::ReductionUs(Choice choice, std::size_t partial_bytes) const {
  if (choice.reduction == Reduction::kNone) return 0;
  const DeviceProfile::ReductionCost& cost =
      CostOf(choice.reduction, *profile_);
  return cost.fixed_us +
         (choice.reduction == Reduction::kLastCta ? shared_.last_cta_us : 0) +
         (cost.us_per_split + shared_.row_split_us) * choice.num_splits +
         2 * UsOf(static_cast<double>(partial_bytes));
}

double PlanPricer::TotalUs(const DecodePlan& plan, double gather_us) const {
  return LaunchUs(plan.starts_early, plan.waves) + gather_us +
         ReductionUs({plan.partition, plan.num_splits, plan.reduction},
                     plan.workspace_bytes - plan.control_bytes);
}

// None of its terms is above that of LeastUs.
double PlanPricer::FloorUs(const DecodePlan& plan, Choice choice) {
  const double shared_floor_us = SharedOf(plan).floor_us;
  const bool is_known =
      choice.partition == partition_ && choice.num_splits == num_splits_;
  return (is_known ? gather_.floor_us : shared_floor_us) +
         ReductionUs(choice, 0);
}

// No norm of the limits is below the largest of them, and sums are rounded
// alike.
double PlanPricer::LeastUs(const DecodePlan& plan) {
  SetGather(plan);
  return TotalUs(plan, gather_.least_us);
}

double PlanPricer::PredictUs(const DecodePlan& plan) {
  SetGather(plan);
  if (gather_.us == 0) {
    const double exponent = profile_->corner_exponent;
    gather_.us = UsOf(
        RoundedMax(RoundedMax(gather_.memory, gather_.busiest_unit, exponent),
                   gather_.longest_sequence, exponent));
  }
  return TotalUs(plan, gather_.us);
}

}  // namespace paged::internal
