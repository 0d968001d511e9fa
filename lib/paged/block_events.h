// What happened in a BlockManager, as lines of JSON: a log that
// `paged blocks replay` reads.
//
// Example:
//
//     paged::BlockManagerOptions options{
//         .num_blocks = 8,
//         .max_events = 64,
//         .event_detail = paged::EventDetail::kRows};
//     auto manager = paged::BlockManager::Create(options);
//     CHECK_OK(manager);
//     std::string log = paged::PoolLine(options);
//     CHECK_OK(manager->Open({.num_tokens = 20}));
//     CHECK_OK(manager->SubmitStep());
//     std::vector<paged::BlockEvent> events(64);
//     events.resize(manager->TakeEvents(absl::MakeSpan(events)));
//     for (const paged::BlockEvent& event : events) {
//       log += paged::EventLine(event);
//     }
//     CHECK_EQ(log,
//              "{\"event\":\"pool\",\"blocks\":8,\"block_size\":16,"
//              "\"rows\":256}\n"
//              "{\"event\":\"opened\",\"row\":0,\"looked_for\":0,"
//              "\"found\":0}\n"
//              "{\"event\":\"taken\",\"row\":0,\"block\":1}\n"
//              "{\"event\":\"taken\",\"row\":0,\"block\":2}\n"
//              "{\"event\":\"length\",\"row\":0,\"tokens\":20}\n"
//              "{\"event\":\"step\",\"id\":1}\n");
#ifndef PAGED_LIB_PAGED_BLOCK_EVENTS_H_
#define PAGED_LIB_PAGED_BLOCK_EVENTS_H_

#include <string>

#include "paged/block_manager_types.h"

namespace paged {

// One JSON object and a line feed: of what size the pool is, the first line of
// a log.
std::string PoolLine(const BlockManagerOptions& options);

// "stored", "evicted", "forked", "copied", "cleared", "opened", "taken",
// "removed", "closed", "length" or "step", and the fields that the kind has.
std::string EventLine(const BlockEvent& event);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_BLOCK_EVENTS_H_
