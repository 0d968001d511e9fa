// What a plan's partition, splits, reduction and instance entail: its grid, its
// memory and its predicted time.
#ifndef PAGED_LIB_PAGED_INTERNAL_COMPLETE_PLAN_H_
#define PAGED_LIB_PAGED_INTERNAL_COMPLETE_PLAN_H_

#include "paged/device_profile.h"
#include "paged/internal/candidates.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::internal {

// v1 with one split and nothing to reduce, or split_k.
struct Choice {
  Partition partition;
  int num_splits;
  Reduction reduction;
};

// Sets what follows from the choice and `plan.resident_ctas`; stops at the
// first obstacle.
Obstacle Complete(Choice choice, const DeviceProfile& profile,
                  const DecodeOptions& options, DecodePlan& plan);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_COMPLETE_PLAN_H_
