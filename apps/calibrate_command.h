// `paged calibrate`: this machine's GPU as a profile for the planner.
#ifndef PAGED_APPS_CALIBRATE_COMMAND_H_
#define PAGED_APPS_CALIBRATE_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code.
absl::StatusOr<int> CalibrateCommand(const std::vector<std::string>& args,
                                     std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_CALIBRATE_COMMAND_H_
