#include "paged/internal/complete_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/core/partition.h"
#include "kernels/core/schedule.h"
#include "paged/internal/lower.h"
#include "paged/internal/schedule.h"

namespace paged::internal {
namespace {

// gridDim.x.
constexpr double kMaxCtas = std::numeric_limits<int32_t>::max();

// The chunks of a schedule fill the device this often, beyond one per sequence:
// enough to even out what is left at the end, few enough to stay large. (H200,
// 1 x 131072 among 63 x 1024: 200, 185, 189 and 197 us with 8, 16, 32 and 128
// more chunks; 64 Zipf lengths: 149, 152, 153 and 164.)
constexpr int kChunkWaves = 1;
// With fewer, the start of a CTA costs more than its tiles.
constexpr int kMinTilesPerChunk = 8;

// How a schedule may cut the batch of the plan: neither more often than the
// lengths, the device and the counters of arrivals can use.
Chunking ChunkingOf(const DecodePlan& plan, const DeviceProfile& profile) {
  const DecodeShape& s = plan.shape;
  const int64_t ctas_per_chunk = int64_t{s.num_kv_heads} * plan.num_row_tiles;
  const int64_t slots = int64_t{plan.resident_ctas} * profile.num_units;
  const int64_t useful =
      (kChunkWaves * slots + ctas_per_chunk - 1) / ctas_per_chunk;
  const int64_t possible =
      int64_t{s.num_seqs} * (NumTiles(s.max_context_len) / kMinTilesPerChunk);
  const int64_t countable = kMaxArrivalCounters / (2 * ctas_per_chunk);
  return {.first_rung = RungOf(kMinTilesPerChunk),
          .max_extra_chunks =
              static_cast<int>(std::min({useful, possible, countable}))};
}

// An early grid takes slots that the one before it leaves free. Two grids of at
// most half of the SMs lie beside each other; larger ones are spread less
// evenly than they would have been (H200: 64 x 4096 with 4 kv heads in 256 CTAs
// takes 154 instead of 125 us, 8 x 1024 in 128 CTAs 9.9 instead of 8.5).
// Clusters need neighbouring SMs, and the more of them the larger they are (1 x
// 4096 in 8 clusters of 8: 10.4 instead of 9.2 us).
bool MayStartEarly(const DecodePlan& plan, const DeviceProfile& profile) {
  const int64_t room =
      plan.reduction == Reduction::kCluster ? std::max(plan.num_splits, 2) : 2;
  return profile.early_start_us > 0 &&
         room * plan.num_ctas <= profile.num_units;
}

// Of any size: what a grid cannot have is not an int64 either.
double NumCtas(const DecodePlan& plan) {
  return static_cast<double>(MaxItems(plan)) * plan.shape.num_kv_heads *
         plan.num_row_tiles;
}

}  // namespace

void Choose(Choice choice, const DeviceProfile& profile,
            const DecodeOptions& options, DecodePlan& plan) {
  plan.variant =
      choice.partition == Partition::kWhole ? Variant::kV1 : Variant::kSplitK;
  plan.partition = choice.partition;
  plan.num_splits = choice.num_splits;
  plan.reduction = choice.reduction;
  plan.chunking = plan.partition == Partition::kChunks
                      ? ChunkingOf(plan, profile)
                      : Chunking{};
  plan.predicted_us = 0;
  plan.control_bytes = plan.workspace_bytes = plan.schedule_bytes = 0;
  const double num_ctas = NumCtas(plan);
  plan.num_ctas = num_ctas > kMaxCtas ? 0 : static_cast<int64_t>(num_ctas);
  plan.starts_early = options.early_start && MayStartEarly(plan, profile);
  const int64_t slots = int64_t{plan.resident_ctas} * profile.num_units;
  plan.waves = slots == 0 ? 0
                          : static_cast<double>(plan.num_ctas) /
                                static_cast<double>(slots);
}

Obstacle Complete(DecodePlan& plan) {
  if (plan.num_ctas == 0 && NumCtas(plan) > 0) return Obstacle::kGridSize;
  if (plan.partition == Partition::kSplits &&
      plan.reduction == Reduction::kLastCta &&
      plan.num_ctas / plan.num_splits > kMaxArrivalCounters) {
    return Obstacle::kCounters;
  }
  plan.schedule_bytes = ScheduleBytes(plan);
  const WorkspaceLayout layout = WorkspaceLayoutOf(plan);
  plan.control_bytes = layout.control_bytes;
  plan.workspace_bytes = layout.total_bytes;
  return plan.resident_ctas == 0 ? Obstacle::kResidency : Obstacle::kNone;
}

}  // namespace paged::internal
