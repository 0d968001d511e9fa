// Loads of a block manager that can be told apart at a glance.
#ifndef PAGED_APPS_BLOCK_SCENARIOS_H_
#define PAGED_APPS_BLOCK_SCENARIOS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "paged/block_manager_types.h"

namespace paged {

struct BlockScenario {
  const char* name;
  const char* about;
};
const std::vector<BlockScenario>& BlockScenarios();

// Runs so many steps of a scenario on a manager of its own, and hands over its
// options and then each event. Equal arguments give equal events.
absl::Status RunBlockScenario(
    const std::string& name, int num_steps, int seed,
    const std::function<absl::Status(const BlockManagerOptions&)>& pool,
    const std::function<absl::Status(const BlockEvent&)>& event);

}  // namespace paged

#endif  // PAGED_APPS_BLOCK_SCENARIOS_H_
