// What a plan is predicted to cost. Pure arithmetic on a profile; no device.
//
//   time = fixed cost + cost per row + cost per wave beyond the first
//        + max(bytes / bandwidth,
//              bytes of the busiest unit * knee / bandwidth)
//        + reduction cost
//
// with the corner of the maximum rounded as the profile says.
//
// The first term of the maximum is the memory's limit. The second is that of a
// device which is not full: `knee` units reach the whole bandwidth, so one unit
// gets 1 / knee of it, and the fewer warps it has at work the less. Warps that
// wait for the last of their CTA count as work, nearly.
#ifndef PAGED_LIB_PAGED_INTERNAL_COST_MODEL_H_
#define PAGED_LIB_PAGED_INTERNAL_COST_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/core/instance.h"
#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged::internal {

// v1 with one split and nothing to reduce, or split_k.
struct Choice {
  Partition partition;
  int num_splits;
  Reduction reduction;
};

// CTAs of an instance that one SM holds at once: the least of what threads,
// CTA slots, registers and shared memory allow. 0 when not even one fits.
int ResidentCtas(const InstanceConfig& config, int registers_per_thread,
                 const DeviceProfile& profile);

// Tokens of a sequence of expected_context_len that its query tokens see: all,
// but for windows and chunks.
int ExpectedTokensRead(const DecodeShape& shape);

// The tokens that splits are for: of the longest sequence, where lengths
// differ.
int TokensToSplit(const DecodeShape& shape);

// Bytes of keys and values that a batch of expected_context_len reads, counted
// once per kv head. `shape` has its defaults.
int64_t KvBytes(const DecodeShape& shape);

// Predicts the plans of one problem and one instance, one after another: what
// they have in common is computed once.
class PlanPricer {
 public:
  // The profile has to outlive it.
  explicit PlanPricer(const DeviceProfile& profile);

  // Microseconds of a v1 or split_k plan whose other fields are filled in.
  // Never rises when the num_units of a GPU do and all else is equal.
  double PredictUs(const DecodePlan& plan);

  // At most what PredictUs says, to the last bit, and a good deal cheaper;
  // partials are not counted before the plan has memory for them.
  double LeastUs(const DecodePlan& plan);

  // At most what LeastUs will say once the plan of the instance has this
  // choice.
  double FloorUs(const DecodePlan& plan, Choice choice);

 private:
  // Bytes that the whole device could read in the time that each limit of a
  // gather takes, and the gather's microseconds.
  struct Gather {
    double memory = 0;
    double busiest_unit = 0;
    double longest_sequence = 0;
    double least_us = 0;
    double us = 0;        // 0: not computed yet
    double floor_us = 0;  // with the launch
  };

  // What all plans of the instance share.
  struct Shared {
    uint32_t expected_tiles = 0;  // that a sequence reads
    uint32_t longest_tiles = 0;
    uint32_t tiles_per_round = 0;  // of a CTA's warps; 0 on a CPU
    double memory_bytes = 0;       // that all row tiles read
    double bytes_per_tile = 0;
    double launch_us = 0;  // of a wave that starts when all is quiet
    double row_split_us = 0;
    double last_cta_us = 0;  // beyond what every last CTA takes
    double floor_us = 0;     // of one wave that reads all bytes
    // By CTAs at once, as far as they go; 0: not computed yet.
    std::array<double, 8> knees = {};
  };

  const Shared& SharedOf(const DecodePlan& plan);
  void SetGather(const DecodePlan& plan);
  double KneeOf(const DecodePlan& plan, int64_t ctas_at_once);
  double BytesPerCta(uint32_t sequence_tiles, int num_splits) const;
  double BytesOfBusiestUnit(const DecodePlan& plan);
  double UsOf(double bytes) const { return bytes * us_per_byte_; }
  double LaunchUs(bool starts_early, double waves) const;
  double ReductionUs(Choice choice, std::size_t partial_bytes) const;
  double TotalUs(const DecodePlan& plan, double gather_us) const;

  const DeviceProfile* profile_;
  double us_per_byte_;  // of the whole device
  bool has_shared_ = false;
  Shared shared_;
  // What the gather is of: plans that differ in their reduction share it.
  Partition partition_ = Partition::kAuto;
  int num_splits_ = 0;
  Gather gather_;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_COST_MODEL_H_
