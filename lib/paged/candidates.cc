#include "paged/internal/candidates.h"

#include <array>
#include <limits>
#include <optional>

#include "kernels/core/instance.h"
#include "kernels/core/partition.h"
#include "paged/internal/complete_plan.h"
#include "paged/internal/cost_model.h"
#include "paged/internal/device_rules.h"
#include "paged/internal/drafts.h"
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

// thrust and reference: nothing to choose, and no model.
DecodePlan BaselinePlan(DecodePlan plan, Variant variant) {
  plan.variant = variant;
  const WorkspaceLayout layout = WorkspaceLayoutOf(plan);
  plan.control_bytes = layout.control_bytes;
  plan.workspace_bytes = layout.total_bytes;
  return plan;
}

// The reductions that the device and the options allow, in the order of
// kReductions; kNone past the last.
using Reductions = std::array<Reduction, kReductions.size() + 1>;
Reductions ReductionsFor(const DeviceProfile& profile,
                         const DecodeOptions& options) {
  const Reduction forced = options.reduction.value_or(Reduction::kAuto);
  Reductions result;
  result.fill(Reduction::kNone);
  std::size_t count = 0;
  for (Reduction reduction : kReductions) {
    if (forced != Reduction::kAuto && reduction != forced) continue;
    if (CanReduce(reduction, profile)) result[count++] = reduction;
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

// The walk over the candidates of one problem, choice by choice.
class Walk {
 public:
  Walk(const DeviceProfile& profile, const DecodeOptions& options,
       CandidateVisitor visit, Drafts& drafts)
      : profile_(profile),
        options_(options),
        reductions_(ReductionsFor(profile, options)),
        visit_(visit),
        drafts_(drafts) {}

  void VisitWhole() { Visit({Partition::kWhole, 1, Reduction::kNone}); }
  void VisitChunks() {
    Visit({Partition::kChunks, 1, ReductionOfChunks(profile_)});
  }
  void VisitSplits(int num_splits) {
    for (Reduction reduction : reductions_) {
      if (reduction == Reduction::kNone) break;
      if (reduction == Reduction::kCluster &&
          num_splits > kMaxSplitsOfCluster) {
        continue;
      }
      Visit({Partition::kSplits, num_splits, reduction});
    }
  }

 private:
  void Visit(Choice choice) {
    for (Draft& draft : drafts_) {
      if (draft.pricer.FloorUs(draft.plan, choice) >= limit_us_) continue;
      Choose(choice, profile_, options_, draft.plan);
      if (IsTooSlow(draft)) continue;
      const Obstacle obstacle = ObstacleOf(draft);
      if (obstacle == Obstacle::kNone) {
        if (IsTooSlow(draft)) continue;
        draft.plan.predicted_us = draft.pricer.PredictUs(draft.plan);
      }
      limit_us_ = visit_(draft.plan, obstacle);
    }
  }

  bool IsTooSlow(Draft& draft) const {
    return draft.plan.resident_ctas > 0 &&
           draft.pricer.LeastUs(draft.plan) >= limit_us_;
  }

  Obstacle ObstacleOf(Draft& draft) const {
    const Obstacle obstacle = Complete(draft.plan);
    if (obstacle != Obstacle::kNone) {
      return draft.config != nullptr && draft.config->shared_bytes() >
                                            profile_.shared_bytes_per_cta
                 ? Obstacle::kSharedMemory
                 : obstacle;
    }
    // The model knows nothing of clusters that wait.
    return options_.reduction.value_or(Reduction::kAuto) == Reduction::kAuto &&
                   LacksClusterRoom(draft.plan, profile_)
               ? Obstacle::kClusterRoom
               : Obstacle::kNone;
  }

  const DeviceProfile& profile_;
  const DecodeOptions& options_;
  Reductions reductions_;
  CandidateVisitor visit_;
  Drafts& drafts_;
  double limit_us_ = std::numeric_limits<double>::infinity();
};

// In the order of preference.
void VisitAll(const DecodeProblem& problem, const DeviceProfile& profile,
              const DecodeOptions& options, Walk walk) {
  if (options.batch_invariance == BatchInvariance::kOn) {
    return walk.VisitSplits(kInvariantSplits);
  }
  if (MayBeChunks(problem, profile, options)) walk.VisitChunks();
  const Variant variant = options.variant.value_or(Variant::kAuto);
  const Partition partition = options.partition.value_or(Partition::kAuto);
  if (partition == Partition::kChunks) return;
  const bool may_be_whole =
      variant != Variant::kSplitK && partition != Partition::kSplits;
  const int splits = options.splits.value_or(0);
  if (splits > 1) return walk.VisitSplits(splits);
  may_be_whole ? walk.VisitWhole() : walk.VisitSplits(1);
  if (splits == 1 || variant == Variant::kV1 ||
      partition == Partition::kWhole) {
    return;
  }
  const int num_tiles = NumTiles(TokensToSplit(problem.shape()));
  for (int num_splits : kSplitLadder) {
    if (num_tiles / num_splits < kMinTilesPerSplit) break;
    walk.VisitSplits(num_splits);
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
  PAGED_ASSIGN_OR_RETURN(const InstanceClasses classes,
                         CheckDevice(problem.shape(), profile, options));
  const Variant variant = options.variant.value_or(Variant::kAuto);
  const DecodePlan seed = SeedOf(problem, profile, options);
  if (variant == Variant::kThrust || variant == Variant::kReference) {
    visit(BaselinePlan(seed, variant), Obstacle::kNone);
    return absl::OkStatus();
  }
  Drafts drafts = DraftsOf(seed, classes, profile, options);
  VisitAll(problem, profile, options, Walk(profile, options, visit, drafts));
  return absl::OkStatus();
}

}  // namespace paged::internal
