// The command line program `paged`, as a function.
#ifndef PAGED_APPS_CLI_H_
#define PAGED_APPS_CLI_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace paged {

inline constexpr int kExitPassed = 0;
inline constexpr int kExitCheckFailed = 1;
inline constexpr int kExitBadInput = 2;  // usage, files, options
// No device, no memory, CUDA errors, an output that fails on the way.
inline constexpr int kExitNoDevice = 3;
inline constexpr int kExitInterrupted = 130;  // as shells say it of SIGINT

// Runs `paged ARGS`; `args` does not hold the program's name. Errors are one
// line on `err`. Reads the environment of this process. Never throws.
int RunMain(const std::vector<std::string>& args, std::ostream& out,
            std::ostream& err);

int ExitCodeOf(const absl::Status& error);

}  // namespace paged

#endif  // PAGED_APPS_CLI_H_
