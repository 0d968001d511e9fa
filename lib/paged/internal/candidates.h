// The plans that a problem, a device and its options leave open.
#ifndef PAGED_LIB_PAGED_INTERNAL_CANDIDATES_H_
#define PAGED_LIB_PAGED_INTERNAL_CANDIDATES_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "paged/device_profile.h"
#include "paged/options.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::internal {

// What keeps a plan from running at all.
enum class Obstacle : uint8_t {
  kNone,
  kSharedMemory,  // a CTA needs more than the device grants one
  kResidency,     // no CTA fits an SM's registers, threads or shared memory
  kGridSize,      // more CTAs than a launch may have
  kCounters,      // more (item, kv head) pairs than the last CTA can count
  kClusterRoom,   // clusters would wait for one another; only left to itself
};

// Returns the time from which on a plan is of no interest, infinity for none:
// those that are certain to take as long may be left out from then on.
using CandidateVisitor =
    absl::FunctionRef<double(const DecodePlan& plan, Obstacle obstacle)>;

// Calls `visit` with every plan to be weighed, complete but for what its
// obstacle makes meaningless: fewer splits first, then in the order of the
// instances. Errors as MakePlan. Does not allocate on success.
absl::Status VisitCandidates(const DecodeProblem& problem,
                             const DeviceProfile& profile,
                             const DecodeOptions& options,
                             CandidateVisitor visit);

// The obstacle as a sentence about this plan; empty for kNone.
std::string Describe(Obstacle obstacle, const DecodePlan& plan,
                     const DeviceProfile& profile);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CANDIDATES_H_
