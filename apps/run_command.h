// `paged run`: computes the attention in a safetensors file, and checks it.
#ifndef PAGED_APPS_RUN_COMMAND_H_
#define PAGED_APPS_RUN_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code. Rows go to `out`, notes on what could not be run as
// asked to `err`.
absl::StatusOr<int> RunCommand(const std::vector<std::string>& args,
                               std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_RUN_COMMAND_H_
