#include "paged/internal/candidates.h"

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/core/instance.h"
#include "kernels/core/instance_registers.h"
#include "kernels/core/partition.h"
#include "paged/internal/complete_plan.h"
#include "paged/internal/cost_model.h"
#include "paged/internal/device_rules.h"
#include "paged/internal/feature_rules.h"
#include "paged/internal/lower.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

// Steps of at most 1.5x: the busiest unit's share stays within that of the
// best count.
constexpr std::array kSplitLadder = {2,  3,  4,  6,  8,  12, 16,
                                     24, 32, 48, 64, 96, 128};

// With fewer tiles than warps, a CTA of 4 warps leaves some of them idle.
constexpr int kMinTilesPerSplit = 4;

// What split_k may end in; an earlier one wins a tie.
constexpr std::array kReductions = {Reduction::kCluster, Reduction::kLastCta,
                                    Reduction::kSecondPass};

// Rows of one (sequence, kv head), dealt evenly to as few tiles of at most
// `max_rows` as can hold them; one per program when they may not share.
void DealRows(HeadPacking packing, int max_rows, DecodePlan& plan) {
  const DecodeShape& s = plan.shape;
  const int rows = s.q_len * (s.num_q_heads / s.num_kv_heads);
  if (packing == HeadPacking::kOff) {
    plan.rows_per_item = 1;
    plan.num_row_tiles = rows;
    return;
  }
  plan.num_row_tiles = (rows - 1) / max_rows + 1;
  plan.rows_per_item = (rows - 1) / plan.num_row_tiles + 1;
}

DecidedBy DeciderOf(const DecodeOptions& options) {
  if (options.variant.value_or(Variant::kAuto) != Variant::kAuto) {
    return options.variant_source == OptionSource::kCode
               ? DecidedBy::kVariantOption
               : DecidedBy::kVariantEnv;
  }
  if (options.splits.value_or(0) != 0) {
    return options.splits_source == OptionSource::kCode
               ? DecidedBy::kSplitsOption
               : DecidedBy::kSplitsEnv;
  }
  if (options.partition.value_or(Partition::kAuto) != Partition::kAuto) {
    return options.partition_source == OptionSource::kCode
               ? DecidedBy::kPartitionOption
               : DecidedBy::kPartitionEnv;
  }
  return options.batch_invariance == BatchInvariance::kOn
             ? DecidedBy::kBatchInvariance
             : DecidedBy::kCostModel;
}

// What every candidate shares.
DecodePlan SeedOf(const DecodeProblem& problem, const DeviceProfile& profile,
                  const DecodeOptions& options) {
  DecodePlan plan;
  plan.instance.kv_dtype = problem.shape().kv_dtype;
  plan.kv_bytes = KvBytes(problem.shape());
  plan.decided_by = DeciderOf(options);
  plan.shape = problem.shape();
  DealRows(options.head_packing, kMmaRows, plan);  // on the CPU
  plan.device_fingerprint = FingerprintOf(profile);
  return plan;
}

// thrust and reference: nothing to choose, and no model.
DecodePlan BaselinePlan(DecodePlan plan, Variant variant) {
  plan.variant = variant;
  const WorkspaceLayout layout = WorkspaceLayoutOf(plan);
  plan.control_bytes = layout.control_bytes;
  plan.workspace_bytes = layout.total_bytes;
  return plan;
}

// The reductions to weigh for a split count, kNone past the last.
std::array<Reduction, kReductions.size()> ReductionsFor(
    int num_splits, const DeviceProfile& profile,
    const DecodeOptions& options) {
  const Reduction forced = options.reduction.value_or(Reduction::kAuto);
  std::array<Reduction, kReductions.size()> result;
  result.fill(Reduction::kNone);
  std::size_t count = 0;
  for (Reduction reduction : kReductions) {
    if (forced != Reduction::kAuto && reduction != forced) continue;
    if (!CanReduce(reduction, profile)) continue;
    if (reduction == Reduction::kCluster && num_splits > kMaxSplitsOfCluster) {
      continue;
    }
    result[count++] = reduction;
  }
  return result;
}

// The CTAs of a cluster start together, on SMs of one neighbourhood (a GPC),
// and neighbourhoods do not divide evenly: with half of the slots taken all
// clusters start at once, with more of them some wait for a second wave (H200,
// 8 x 1024 with 4 kv heads in 4 splits: 8.5 us at 128 of 264 slots, 12.6 us at
// 128 of 132). Only for plans that are free to avoid it.
bool LacksClusterRoom(const DecodePlan& plan, const DeviceProfile& profile) {
  return plan.reduction == Reduction::kCluster &&
         2 * plan.num_ctas > int64_t{plan.resident_ctas} * profile.num_units;
}

// What the chunks of a sequence end in: on the CPU all threads wait for each
// other anyway.
Reduction ReductionOfChunks(const DeviceProfile& profile) {
  return profile.kind == DeviceKind::kCuda ? Reduction::kLastCta
                                           : Reduction::kSecondPass;
}

// Whether a schedule is to be weighed.
bool MayBeChunks(const DecodeProblem& problem, const DeviceProfile& profile,
                 const DecodeOptions& options) {
  const Partition partition = options.partition.value_or(Partition::kAuto);
  const Reduction reduction = options.reduction.value_or(Reduction::kAuto);
  if (reduction != Reduction::kAuto &&
      reduction != ReductionOfChunks(profile)) {
    return false;
  }
  return partition == Partition::kChunks ||
         (partition == Partition::kAuto && options.splits.value_or(0) == 0 &&
          options.variant.value_or(Variant::kAuto) != Variant::kV1 &&
          problem.shape().lengths == LengthSpread::kRagged);
}

// Twice the rows on an item earn their registers where each row tile would read
// from the memory again; from the L2 it costs less (H200, 60 MB of L2: 32 x
// 4096 with 1 kv head of 32 q heads, 67 MB: 25.7 us in 2 row tiles, 32.3 in
// one; 16 x 32768 with 8 query tokens, 2.1 GB: 707 and 492).
constexpr int64_t kMinWideBytesPerL2 = 4;

// The instances of a class, which lie side by side in the table.
struct ClassMembers {
  std::size_t first = 0;
  std::size_t count = 0;  // 0: no such class
};
using Classes = std::array<ClassMembers, 2>;

// Those to weigh, of each class; the table is searched once for a problem.
Classes MembersFor(const DecodeShape& shape, const DecodeOptions& options) {
  Classes members;
  std::size_t num_classes = 0;
  for (const auto& of : ClassesFor(shape, options.instance)) {
    if (!of.has_value()) break;
    ClassMembers found;
    for (std::size_t i = 0; i < kInstances.size(); ++i) {
      if (!IsOf(kInstances[i], *of)) continue;
      if (found.count++ == 0) found.first = i;
    }
    members[num_classes++] = found;
  }
  return members;
}

// Every instance of a class.
void VisitClass(Choice choice, const DecodePlan& seed,
                const ClassMembers& members, const DeviceProfile& profile,
                const DecodeOptions& options, CandidateVisitor visit) {
  for (std::size_t i = members.first; i < members.first + members.count; ++i) {
    const InstanceConfig& config = kInstances[i];
    if (!HasShape(config, options.instance)) continue;
    DecodePlan plan = seed;
    plan.instance = InstanceOf(config);
    DealRows(options.head_packing, config.max_rows, plan);
    plan.resident_ctas = ResidentCtas(config, kInstanceRegisters[i], profile);
    Obstacle obstacle = Complete(choice, profile, options, plan);
    if (config.shared_bytes() > profile.shared_bytes_per_cta) {
      obstacle = Obstacle::kSharedMemory;
    } else if (obstacle == Obstacle::kNone &&
               options.reduction.value_or(Reduction::kAuto) ==
                   Reduction::kAuto &&
               LacksClusterRoom(plan, profile)) {
      obstacle = Obstacle::kClusterRoom;
      plan.predicted_us = 0;  // the model knows nothing of waiting
    }
    visit(plan, obstacle);
    // The first that the device has room for, whatever the batch.
    if (options.batch_invariance == BatchInvariance::kOn &&
        plan.resident_ctas > 0 && obstacle != Obstacle::kSharedMemory) {
      return;
    }
  }
}

// `classes` are those of a GPU.
void VisitInstances(Choice choice, const DecodePlan& seed,
                    const Classes& classes, const DeviceProfile& profile,
                    const DecodeOptions& options, CandidateVisitor visit) {
  if (profile.kind == DeviceKind::kCpu) {
    const DecodeShape& s = seed.shape;
    DecodePlan plan = seed;
    plan.instance.head_dim = s.head_dim;
    plan.instance.value_dim = s.value_dim;
    plan.instance.is_general = NeedsGeneral(s);
    plan.resident_ctas = 1;
    const Obstacle obstacle = Complete(choice, profile, options, plan);
    visit(plan, obstacle);
    return;
  }
  for (const ClassMembers& members : classes) {
    if (kInstances[members.first].max_rows == kWideRows &&
        &members != &classes.front() &&
        seed.kv_bytes < kMinWideBytesPerL2 * profile.l2_bytes) {
      break;
    }
    VisitClass(choice, seed, members, profile, options, visit);
    if (options.batch_invariance == BatchInvariance::kOn) return;
  }
}

}  // namespace

absl::Status VisitCandidates(const DecodeProblem& problem,
                             const DeviceProfile& profile,
                             const DecodeOptions& options,
                             CandidateVisitor visit) {
  // MakePlan takes options that nobody resolved; the environment stays out.
  PAGED_RETURN_IF_ERROR(ResolveOptions(options, [](const char*) {
                          return std::optional<std::string>();
                        }).status());
  PAGED_RETURN_IF_ERROR(CheckDevice(problem.shape(), profile, options));

  const Variant variant = options.variant.value_or(Variant::kAuto);
  const int splits = options.splits.value_or(0);
  const DecodePlan seed = SeedOf(problem, profile, options);
  if (variant == Variant::kThrust || variant == Variant::kReference) {
    visit(BaselinePlan(seed, variant), Obstacle::kNone);
    return absl::OkStatus();
  }
  Classes instances;
  if (profile.kind == DeviceKind::kCuda) {
    instances = MembersFor(problem.shape(), options);
  }
  const auto visit_whole = [&] {
    VisitInstances({Partition::kWhole, 1, Reduction::kNone}, seed, instances,
                   profile, options, visit);
  };
  const auto visit_splits = [&](int num_splits) {
    for (Reduction reduction : ReductionsFor(num_splits, profile, options)) {
      if (reduction == Reduction::kNone) break;
      VisitInstances({Partition::kSplits, num_splits, reduction}, seed,
                     instances, profile, options, visit);
    }
  };
  if (options.batch_invariance == BatchInvariance::kOn) {
    visit_splits(kInvariantSplits);
    return absl::OkStatus();
  }
  if (MayBeChunks(problem, profile, options)) {
    VisitInstances({Partition::kChunks, 1, ReductionOfChunks(profile)}, seed,
                   instances, profile, options, visit);
  }
  const Partition partition = options.partition.value_or(Partition::kAuto);
  if (partition == Partition::kChunks) return absl::OkStatus();
  const bool may_be_whole =
      variant != Variant::kSplitK && partition != Partition::kSplits;
  if (splits != 0) {
    splits == 1 && may_be_whole ? visit_whole() : visit_splits(splits);
    return absl::OkStatus();
  }
  may_be_whole ? visit_whole() : visit_splits(1);
  if (variant == Variant::kV1 || partition == Partition::kWhole) {
    return absl::OkStatus();
  }
  const int num_tiles = NumTiles(TokensToSplit(problem.shape()));
  for (int num_splits : kSplitLadder) {
    if (num_tiles / num_splits < kMinTilesPerSplit) break;
    visit_splits(num_splits);
  }
  return absl::OkStatus();
}

}  // namespace paged::internal
