// Dispatch decisions as people read them, and as programs do.
#ifndef PAGED_APPS_EXPLANATION_TEXT_H_
#define PAGED_APPS_EXPLANATION_TEXT_H_

#include <string>

#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged {

// One sentence: what was chosen, against what, and who decided.
std::string ReasonOf(const Explanation& explanation,
                     const DeviceProfile& profile);

// Device, problem, the best candidate of each (variant, splits), the reason.
std::string TableOf(const Explanation& explanation,
                    const DeviceProfile& profile);

// One object: chosen, decided_by, candidates.
std::string JsonOf(const Explanation& explanation);

}  // namespace paged

#endif  // PAGED_APPS_EXPLANATION_TEXT_H_
