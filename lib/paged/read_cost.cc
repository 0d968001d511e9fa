#include "paged/internal/read_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/core/instance.h"
#include "kernels/core/partition.h"
#include "paged/internal/cost_model.h"

namespace paged::internal {
namespace {

// Of a unit's arithmetic against that of a plain instance, which the profile is
// of (H200, 1 x 32768 with 8 kv heads of 4 q heads on 64 SMs: 36.6 us with 1
// query token, 38.9 with 2, 40.6 with 4, 67 with 8 in items of 32 rows; 64 x
// 4096 in fp32: a quarter of the memory's rate). A token costs the same
// arithmetic in half of the bytes (1 x 131072 on 8 SMs: 105 GB/s an SM in fp16,
// 53 in e4m3; with 16 rows and rules 64 x 2048 takes 89 us, the loads alone
// 66).
double SlownessOf(const Instance& instance) {
  if (instance.on_cuda_cores) return 12;
  if (instance.max_rows > kMmaRows) return 3;
  if (SizeOf(instance.kv_dtype) == 1) {
    return instance.is_general && instance.max_rows == kMmaRows ? 3.5 : 2;
  }
  return instance.is_general ? 1.2 : 1;
}

// Of a CPU: threads that share out the heads of a sequence read parts of blocks
// that lie in one piece (two cores of a Zen 4 server, blocks of 16, 8 kv heads,
// one sequence as a whole and in two splits: 65,536 tokens with group 1 16.6
// and 14.7 ms, with group 4 9.8 and 9.3, with 8 15.2 and 14.3; 8,192
// tokens 1.23 and 0.95). What the caches hold is read in no time either way.
constexpr double kSharedHeads = 1.05;
constexpr int64_t kCachedBytes = int64_t{32} << 20;

bool SharesHeads(const DecodePlan& plan, const DeviceProfile& profile) {
  const DecodeShape& shape = plan.shape;
  const int64_t items =
      int64_t{shape.num_seqs} * plan.num_row_tiles * plan.num_splits;
  return shape.num_kv_heads > 1 && items < profile.num_units &&
         plan.kv_bytes > kCachedBytes &&
         shape.key.head_stride < shape.key.slot_stride;
}

// Of a GPU: a row that is no whole pieces of 64 bytes shares one with the next
// head's.
bool SharesPieces(const DecodeShape& shape) {
  constexpr int kPieceBytes = 64;
  const int size = SizeOf(shape.kv_dtype);
  return shape.num_kv_heads > 1 && (shape.head_dim * size % kPieceBytes != 0 ||
                                    shape.value_dim * size % kPieceBytes != 0);
}

// How often such a piece is read: CTAs that go through many tokens are too far
// apart in the end for the L2 to have it still (H200, 16 x 4096 with 32 kv
// heads of 1 q head, in 1, 2 and 3 splits: head_dim 80 206, 183, 179 us; 112
// 267, 238, 235; 128, whose rows are whole pieces, 244, 245, 246).
double DriftOf(const DecodePlan& plan) {
  constexpr double kTokensInStep = 2048;
  constexpr double kPerTokensInStep = 0.06;
  constexpr double kMost = 0.2;
  const double times_in_step =
      ExpectedTokensRead(plan.shape) / (kTokensInStep * plan.num_splits);
  return 1 + std::clamp(kPerTokensInStep * (times_in_step - 1), 0.0, kMost);
}

}  // namespace

int BytesPerToken(const DecodeShape& shape) {
  return (shape.head_dim + shape.value_dim) * SizeOf(shape.kv_dtype);
}

int TokensRead(const DecodeShape& shape, int64_t context_len) {
  int64_t seen = context_len;
  // Where in its chunk the newest token is depends on the length: the whole.
  for (int64_t limit : {shape.window, shape.attention_chunk}) {
    if (limit > 0) seen = std::min(seen, limit + shape.q_len - 1);
  }
  return static_cast<int>(std::min(context_len, seen + shape.sink_tokens));
}

// Warps count, and their tiles; the depth of their rings hardly does once there
// are two stages, since a warp with one tile to work on and one on its way is
// bound by its own arithmetic.
double ComputeKnee(const DecodePlan& plan, const DeviceProfile& profile,
                   int64_t ctas_at_once) {
  // A CPU thread's loads are not counted; all threads together saturate it.
  if (profile.kind == DeviceKind::kCpu) return profile.knee_units;
  const int tiles = InstanceConfig::TilesPerStage(SizeOf(plan.shape.kv_dtype),
                                                  plan.instance.head_dim,
                                                  plan.instance.max_rows);
  const double stage_bytes =
      static_cast<double>(kTileTokens * tiles) * BytesPerToken(plan.shape);
  const double bytes_at_work =
      static_cast<double>(ctas_at_once) * plan.instance.warps * stage_bytes;
  const double shortage = std::max(1.0, profile.knee_bytes / bytes_at_work);
  return profile.knee_units * SlownessOf(plan.instance) *
         std::pow(shortage, profile.knee_exponent);
}

// Row tiles of the same tokens read them one after another: the first from the
// memory, the others from the L2, which is faster by a third (H200, 16 x 32768
// with 8 query tokens in 2 row tiles: 707 us, 470 with 1).
double BytesRead(const DecodePlan& plan) {
  constexpr double kL2Speed = 1.33;
  return static_cast<double>(plan.kv_bytes) *
         std::max(1.0, plan.num_row_tiles / kL2Speed);
}

double RereadsOf(const DecodePlan& plan, const DeviceProfile& profile) {
  if (plan.partition == Partition::kChunks) return 1;
  if (profile.kind == DeviceKind::kCpu) {
    return SharesHeads(plan, profile) ? kSharedHeads : 1;
  }
  return SharesPieces(plan.shape) ? DriftOf(plan) : 1;
}

}  // namespace paged::internal
