// `paged report`: one page that shows what a machine does, and why.
#ifndef PAGED_APPS_REPORT_COMMAND_H_
#define PAGED_APPS_REPORT_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code. Progress and notes go to `err`.
absl::StatusOr<int> ReportCommand(const std::vector<std::string>& args,
                                  std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_REPORT_COMMAND_H_
