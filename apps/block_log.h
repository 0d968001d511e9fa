// Logs of a BlockManager's events: lines of JSON, as paged/block_events.h
// writes them.
#ifndef PAGED_APPS_BLOCK_LOG_H_
#define PAGED_APPS_BLOCK_LOG_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/block_manager_types.h"

namespace paged {

// A log's first line.
struct LogPool {
  int64_t num_blocks = 0;  // with block 0, which nobody owns
  int block_size = 0;
  int num_rows = 0;
};

// Upper limits of what is read: far above any pool, and small enough to be
// replayed in memory.
inline constexpr int64_t kMaxLogBlocks = int64_t{1} << 24;
inline constexpr int kMaxLogRows = 1 << 20;

absl::StatusOr<LogPool> ParsePoolLine(const std::string& line);
absl::StatusOr<BlockEvent> ParseEventLine(const std::string& line);

// Hands the pool and then every event over; empty lines are skipped.
// InvalidArgument with the line's number for what is no log, and what a
// handler returns, with the line's number, from there on.
absl::Status ReadBlockLog(
    std::istream& in, const std::function<absl::Status(const LogPool&)>& pool,
    const std::function<absl::Status(const BlockEvent&)>& event);

}  // namespace paged

#endif  // PAGED_APPS_BLOCK_LOG_H_
