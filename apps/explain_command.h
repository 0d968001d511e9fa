// `paged explain`: which kernel would run a shape, and why.
#ifndef PAGED_APPS_EXPLAIN_COMMAND_H_
#define PAGED_APPS_EXPLAIN_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code. Needs no device.
absl::StatusOr<int> ExplainCommand(const std::vector<std::string>& args,
                                   std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_EXPLAIN_COMMAND_H_
