#include <limits>

#include "absl/strings/str_format.h"
#include "paged/internal/candidates.h"
#include "paged/internal/status_macros.h"
#include "paged/plan.h"

namespace paged {
namespace {

std::string WhySlower(const DecodePlan& plan, const DecodePlan& chosen) {
  if (plan.predicted_us > chosen.predicted_us) {
    return absl::StrFormat("predicted %.1f us, %.3fx the choice",
                           plan.predicted_us,
                           plan.predicted_us / chosen.predicted_us);
  }
  return absl::StrFormat(
      "predicted %.1f us, as the choice, which %s", plan.predicted_us,
      plan.num_splits > chosen.num_splits ? "has fewer splits" : "comes first");
}

}  // namespace

absl::StatusOr<Explanation> Explain(const DecodeProblem& problem,
                                    const DeviceProfile& profile,
                                    const DecodeOptions& options) {
  Explanation explanation;
  PAGED_ASSIGN_OR_RETURN(explanation.chosen,
                         MakePlan(problem, profile, options));
  const DecodePlan& chosen = explanation.chosen;
  PAGED_RETURN_IF_ERROR(internal::VisitCandidates(
      problem, profile, options,
      [&](const DecodePlan& plan, internal::Obstacle obstacle) {
        Candidate candidate{.plan = plan, .rejected_because = ""};
        if (obstacle != internal::Obstacle::kNone) {
          candidate.rejected_because =
              internal::Describe(obstacle, plan, profile);
        } else if (plan != chosen) {
          candidate.rejected_because = WhySlower(plan, chosen);
        }
        explanation.candidates.push_back(std::move(candidate));
        return std::numeric_limits<double>::infinity();
      }));
  return explanation;
}

}  // namespace paged
