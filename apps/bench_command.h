// `paged bench`: one point, measured in several ways side by side.
#ifndef PAGED_APPS_BENCH_COMMAND_H_
#define PAGED_APPS_BENCH_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code. Rows go to `out`, notes to `err`.
absl::StatusOr<int> BenchCommand(const std::vector<std::string>& args,
                                 std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_BENCH_COMMAND_H_
