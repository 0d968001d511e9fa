#include "apps/block_scenarios.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/block_traffic.h"
#include "paged/block_manager.h"
#include "paged/internal/status_macros.h"

namespace paged {
const std::vector<BlockScenario>& BlockScenarios() {
  static const auto* const scenarios = new std::vector<BlockScenario>{
      {"chat", "turns of conversations over one system prompt"},
      {"beams", "searches of four beams"},
      {"speech", "streams with a window of 750 tokens and a sink of 4"},
      {"churn", "requests of all lengths, drafts, windows, preemption"}};
  return *scenarios;
}

absl::Status RunBlockScenario(
    const std::string& name, int num_steps, int seed,
    const std::function<absl::Status(const BlockManagerOptions&)>& pool,
    const std::function<absl::Status(const BlockEvent&)>& event) {
  const BlockManagerOptions options{.num_blocks = 512,
                                    .block_size = 16,
                                    .max_seqs = 64,
                                    .max_blocks_per_seq = 128,
                                    .max_events = 1 << 16,
                                    .event_detail = EventDetail::kRows};
  PAGED_ASSIGN_OR_RETURN(BlockManager manager, BlockManager::Create(options));
  const std::unique_ptr<Traffic> traffic =
      MakeTraffic(name, std::move(manager), seed);
  if (traffic == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no scenario has the name ", name));
  }
  PAGED_RETURN_IF_ERROR(pool(options));
  std::vector<BlockEvent> events(1 << 16);
  for (int step = 0; step < num_steps; ++step) {
    traffic->Step();
    PAGED_ASSIGN_OR_RETURN(const SubmittedStep submitted,
                           traffic->manager().SubmitStep());
    PAGED_RETURN_IF_ERROR(traffic->manager().RetireStep(submitted.id));
    const std::size_t count =
        traffic->manager().TakeEvents(absl::MakeSpan(events));
    for (std::size_t i = 0; i < count; ++i) {
      PAGED_RETURN_IF_ERROR(event(events[i]));
    }
  }
  return absl::OkStatus();
}

}  // namespace paged
