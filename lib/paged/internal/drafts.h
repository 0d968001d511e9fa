// The instances to weigh for a problem, each with a plan that lacks nothing but
// a choice.
#ifndef PAGED_LIB_PAGED_INTERNAL_DRAFTS_H_
#define PAGED_LIB_PAGED_INTERNAL_DRAFTS_H_

#include "absl/container/inlined_vector.h"
#include "kernels/core/instance.h"
#include "paged/device_profile.h"
#include "paged/internal/cost_model.h"
#include "paged/internal/instance_classes.h"
#include "paged/options.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::internal {

// The plan of an instance, in which each choice overwrites the one before it.
struct Draft {
  const InstanceConfig* config;  // null on a CPU
  DecodePlan plan;
  PlanPricer pricer;
};

// Room for those of two classes.
using Drafts = absl::InlinedVector<Draft, 2 * kMaxClassMembers>;

// What every candidate of a problem shares.
DecodePlan SeedOf(const DecodeProblem& problem, const DeviceProfile& profile,
                  const DecodeOptions& options);

// Of every instance to be weighed, in the order of preference. `classes` are
// those of a GPU.
Drafts DraftsOf(const DecodePlan& seed, const InstanceClasses& classes,
                const DeviceProfile& profile, const DecodeOptions& options);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_DRAFTS_H_
