#include "paged/internal/drafts.h"

#include <cstddef>
#include <cstdint>

#include "kernels/core/instance_registers.h"
#include "paged/internal/feature_rules.h"

namespace paged::internal {
namespace {

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

// Twice the rows on an item earn their registers where each row tile would read
// from the memory again; from the L2 it costs less (H200, 60 MB of L2: 32 x
// 4096 with 1 kv head of 32 q heads, 67 MB: 25.7 us in 2 row tiles, 32.3 in
// one; 1 x 32768 with 8 query tokens, 134 MB: 49 and 47, with 16 73 and 64; 16
// x 32768 with 8, 2.1 GB: 707 and 492).
constexpr int64_t kMinWideBytesPerL2 = 2;

void AddDraftsOf(const InstanceClass& of, const DecodePlan& seed,
                 const DeviceProfile& profile, const DecodeOptions& options,
                 Drafts& drafts) {
  for (const InstanceConfig& config : of.members()) {
    if (!HasShape(config, options.instance)) continue;
    const auto place = static_cast<std::size_t>(&config - kInstances.data());
    drafts.push_back({&config, seed, PlanPricer(profile)});
    DecodePlan& plan = drafts.back().plan;
    plan.instance = InstanceOf(config);
    DealRows(options.head_packing, config.max_rows, plan);
    plan.resident_ctas =
        ResidentCtas(config, kInstanceRegisters[place], profile);
    // The first that the device has room for, whatever the batch.
    if (options.batch_invariance == BatchInvariance::kOn &&
        plan.resident_ctas > 0) {
      return;
    }
  }
}

}  // namespace

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

Drafts DraftsOf(const DecodePlan& seed, const InstanceClasses& classes,
                const DeviceProfile& profile, const DecodeOptions& options) {
  Drafts drafts;
  if (profile.kind == DeviceKind::kCpu) {
    drafts.push_back({nullptr, seed, PlanPricer(profile)});
    DecodePlan& plan = drafts.back().plan;
    plan.instance.head_dim = seed.shape.head_dim;
    plan.instance.value_dim = seed.shape.value_dim;
    plan.instance.is_general = NeedsGeneral(seed.shape);
    plan.resident_ctas = 1;
    return drafts;
  }
  AddDraftsOf(classes[0], seed, profile, options, drafts);
  const bool may_be_wider =
      classes[1].count != 0 &&
      options.batch_invariance == BatchInvariance::kOff &&
      (classes[1].front().max_rows != kWideRows ||
       seed.kv_bytes >= kMinWideBytesPerL2 * profile.l2_bytes);
  if (may_be_wider) AddDraftsOf(classes[1], seed, profile, options, drafts);
  return drafts;
}

}  // namespace paged::internal
