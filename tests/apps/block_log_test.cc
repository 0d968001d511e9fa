#include "apps/block_log.h"

#include <string>

#include "apps/block_replay.h"
#include "gtest/gtest.h"
#include "paged/block_events.h"

namespace paged::testing {
namespace {

TEST(BlockLogTest, NumbersAndLengthsMayHave63Bits) {
  BlockReplay replay({.num_blocks = 9, .block_size = 4, .num_rows = 3});
  for (const std::string line :
       {R"({"event":"opened","row":0,"looked_for":0,"found":0})",
        R"({"event":"taken","row":0,"block":1})",
        R"({"event":"length","row":0,"tokens":5000000003})",
        R"({"event":"step","id":9223372036854775807})"}) {
    const absl::StatusOr<BlockEvent> event = ParseEventLine(line);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(EventLine(*event), line + "\n");
    ASSERT_TRUE(replay.Apply(*event).ok());
  }
  EXPECT_EQ(replay.frames().back().step, 9223372036854775807);
  EXPECT_EQ(replay.frames().back().wasted_slots, 1);
  EXPECT_FALSE(
      ParseEventLine(R"({"event":"step","id":9223372036854775808})").ok());
}

}  // namespace
}  // namespace paged::testing
