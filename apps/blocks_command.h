// `paged blocks`: what a block manager did, step by step.
#ifndef PAGED_APPS_BLOCKS_COMMAND_H_
#define PAGED_APPS_BLOCKS_COMMAND_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// Returns the exit code. Needs no device.
absl::StatusOr<int> BlocksCommand(const std::vector<std::string>& args,
                                  std::ostream& out, std::ostream& err);

}  // namespace paged

#endif  // PAGED_APPS_BLOCKS_COMMAND_H_
