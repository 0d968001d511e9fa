// `paged trace`: one decode step, watched, as a trace for Perfetto.
#ifndef PAGED_APPS_TRACE_COMMAND_H_
#define PAGED_APPS_TRACE_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code.
absl::StatusOr<int> TraceCommand(const std::vector<std::string>& args,
                                 std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_TRACE_COMMAND_H_
