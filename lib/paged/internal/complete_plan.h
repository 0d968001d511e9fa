// What a plan's partition, splits, reduction and instance entail: its grid and
// its memory.
#ifndef PAGED_LIB_PAGED_INTERNAL_COMPLETE_PLAN_H_
#define PAGED_LIB_PAGED_INTERNAL_COMPLETE_PLAN_H_

#include "paged/device_profile.h"
#include "paged/internal/candidates.h"
#include "paged/internal/cost_model.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::internal {

// Sets the choice and the grid that follows from it and `plan.resident_ctas`:
// 0 CTAs where a launch cannot have so many. No memory yet, and no time; `plan`
// may have been completed before, for another choice.
void Choose(Choice choice, const DeviceProfile& profile,
            const DecodeOptions& options, DecodePlan& plan);

// What keeps the chosen plan from running; if nothing, sets its memory.
Obstacle Complete(DecodePlan& plan);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_COMPLETE_PLAN_H_
