#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/block_replay.h"
#include "apps/block_scenarios.h"
#include "apps/block_traffic.h"
#include "paged/block_events.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/tensor_file_builder.h"
#include "tests/support/temporary_folder.h"

namespace paged::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CliResult Replay(const std::string& log, std::vector<std::string> flags = {}) {
  const std::vector<char> bytes(log.begin(), log.end());
  const TemporaryFile file(bytes);
  flags.insert(flags.begin(), {"blocks", "replay", file.path()});
  return RunCli(flags);
}

constexpr char kPool[] =
    "{\"event\":\"pool\",\"blocks\":9,\"block_size\":4,\"rows\":3}\n";

// A prompt of two blocks, a fork that copies the second, and their end.
constexpr char kForkLog[] =
    R"({"event":"opened","row":0,"looked_for":1,"found":0}
{"event":"taken","row":0,"block":1}
{"event":"taken","row":0,"block":2}
{"event":"length","row":0,"tokens":6}
{"event":"step","id":1}
{"event":"stored","row":0,"block":1,"digest":"00000000000000010000000000000002000000000000000300000000000000ff"}
{"event":"forked","row":1,"from":0}
{"event":"copied","row":1,"block":2,"to":3}
{"event":"length","row":0,"tokens":6}
{"event":"length","row":1,"tokens":7}
{"event":"step","id":2}
{"event":"removed","row":0,"block":1}
{"event":"removed","row":0,"block":2}
{"event":"closed","row":0}
{"event":"removed","row":1,"block":1}
{"event":"removed","row":1,"block":3}
{"event":"closed","row":1}
{"event":"step","id":3}
{"event":"evicted","block":1,"digest":"00000000000000010000000000000002000000000000000300000000000000ff"}
)";

TEST(BlocksCommandTest, CountsWhatALogSays) {
  const CliResult result = Replay(absl::StrCat(kPool, kForkLog), {"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = result.JsonLines().at(0);
  EXPECT_EQ(json["steps"], 3);
  EXPECT_EQ(json["opened"], 2);
  EXPECT_EQ(json["lookups"], 1);
  EXPECT_EQ(json["hits"], 0);
  // 2, then 3 of the 8 blocks are held, then none and one is cached.
  EXPECT_DOUBLE_EQ(json["mean_occupancy"], (2 + 3 + 0) / 8.0 / 3);
  EXPECT_DOUBLE_EQ(json["peak_occupancy"], 3 / 8.0);
  EXPECT_DOUBLE_EQ(json["mean_cached"], 1 / 8.0 / 3);
  // 2 of 8 slots, then 2 + 1 of 16.
  EXPECT_DOUBLE_EQ(json["mean_wasted_slots"], (2 + 3) / 3.0);
  EXPECT_DOUBLE_EQ(json["mean_fragmentation"], (2 / 8.0 + 3 / 16.0) / 3);
  EXPECT_EQ(json["peak_shared"], 1);
  EXPECT_EQ(json["copied"], 1);
  EXPECT_EQ(json["evicted"], 1);
  EXPECT_EQ(json["used"], 0);
  EXPECT_EQ(json["free"], 8);
}

TEST(BlocksCommandTest, PrintsASummaryForPeople) {
  const CliResult result = Replay(absl::StrCat(kPool, kForkLog));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* words : {"occupancy", "hit rate", "fragmentation",
                            "wasted slots", "37.5 % at its peak"}) {
    EXPECT_THAT(result.out, HasSubstr(words));
  }
}

// The replay counts alone, from events, what the manager counts from its books.
TEST(BlocksCommandTest, AReplayEqualsTheManagersStatistics) {
  for (const BlockScenario& scenario : BlockScenarios()) {
    SCOPED_TRACE(scenario.name);
    const BlockManagerOptions options{.num_blocks = 300,
                                      .max_seqs = 64,
                                      .max_blocks_per_seq = 128,
                                      .max_events = 1 << 16,
                                      .event_detail = EventDetail::kRows};
    const auto traffic =
        MakeTraffic(scenario.name, BlockManager::Create(options).value(), 3);
    BlockManager& manager = traffic->manager();
    BlockReplay replay({options.num_blocks, options.block_size, 64});
    std::vector<BlockEvent> events(1 << 16);
    for (int step = 0; step < 400; ++step) {
      traffic->Step();
      ASSERT_TRUE(manager.RetireStep(manager.SubmitStep()->id).ok());
      const std::size_t count = manager.TakeEvents(absl::MakeSpan(events));
      for (std::size_t i = 0; i < count; ++i) {
        const absl::Status status = replay.Apply(events[i]);
        ASSERT_TRUE(status.ok()) << status << EventLine(events[i]);
      }
      const BlockStatistics expected = manager.Statistics();
      const ReplaySummary got = replay.Summary();
      ASSERT_EQ(got.used, expected.used + expected.reserved);
      ASSERT_EQ(got.cached, expected.cached);
      ASSERT_EQ(got.free, expected.free + expected.quarantined);
      ASSERT_EQ(got.evicted, expected.evictions);
      ASSERT_EQ(got.copied, expected.copies);
      ASSERT_EQ(got.lookups, expected.lookups);
      ASSERT_EQ(got.hits, expected.hits);
      ASSERT_EQ(replay.frames().empty(), false);
    }
    EXPECT_LE(replay.frames().size(), kMaxFrames);
    EXPECT_EQ(manager.Statistics().dropped_events, 0);
  }
}

TEST(BlocksCommandTest, AScenariosLogReplaysToTheSameSummary) {
  for (const char* name : {"chat", "beams", "speech", "churn"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const std::string log = folder.PathOf("log");
    const CliResult made = RunCli(
        {"blocks", "replay", absl::StrCat("--scenario=", name), "--steps=900",
         "--seed=4", "--json", absl::StrCat("--log=", log)});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const CliResult read = RunCli({"blocks", "replay", log, "--json"});
    EXPECT_EQ(read.exit_code, 0) << read.err;
    EXPECT_EQ(read.out, made.out);
    EXPECT_EQ(made.JsonLines().at(0)["steps"], 900);
    EXPECT_GT(made.JsonLines().at(0)["peak_occupancy"], 0.3);
  }
}

TEST(BlocksCommandTest, ThePageNeedsNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder.PathOf("page.html");
  const CliResult result =
      RunCli({"blocks", "replay", "--scenario=beams", "--steps=700",
              absl::StrCat("--html=", path)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string page = ReadText(path);
  for (const char* words :
       {"<!doctype html>", "<svg", "type=\"range\"", "prefers-color-scheme",
        "const frames = [", "data-b=\"511\"", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(words));
  }
  for (const char* words : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(words)));
  }
}

TEST(BlocksCommandTest, RefusesWhatIsNoLogByLineAndRule) {
  const struct {
    const char* log;
    const char* message;
  } cases[] = {
      {"", "the log is empty"},
      {"[]\n", "line 1: an object with an \"event\" is needed"},
      {"{\"event\":\"step\",\"id\":1}\n",
       "line 1: a log begins with the event pool"},
      {R"({"event":"pool","blocks":1,"block_size":4,"rows":3})",
       "line 1: blocks must be an integer from 2 to 16777216; got 1"},
      {R"({"event":"pool","blocks":9e99,"block_size":4,"rows":3})",
       "line 1: blocks must be an integer"},
  };
  for (const auto& c : cases) {
    const CliResult result = Replay(c.log);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.message));
  }
  const struct {
    const char* line;
    const char* message;
  } lines[] = {
      {"nonsense", "line 2: an object"},
      {R"({"event":"grown"})", "line 2: unknown event grown"},
      {R"({"event":"taken","row":0,"block":1})", "row 0 is not open"},
      {R"({"event":"taken","row":0})",
       "block must be an integer from 0 to 2147483647; got nothing"},
      {R"({"event":"closed","row":3})", "cannot have happened: row 3 of 3"},
      {R"({"event":"removed","row":0,"block":9})", "block 9 of 9"},
      {R"({"event":"forked","row":1,"from":7})", "row 1 is forked from row 7"},
      {R"({"event":"stored","row":0,"block":1,"digest":"12"})",
       "digest must be 64 hexadecimal digits; got 12"},
      {R"({"event":"evicted","block":1,"digest":"00000000000000010000000000000002000000000000000300000000000000ff"})",
       "block 1 is evicted and not cached"},
  };
  for (const auto& c : lines) {
    const CliResult result = Replay(absl::StrCat(kPool, c.line, "\n"));
    EXPECT_EQ(result.exit_code, 2) << c.line;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.message)) << c.line;
  }
}

TEST(BlocksCommandTest, EndsWithTwoOnBadUsage) {
  const std::vector<std::vector<std::string>> calls = {
      {},
      {"play"},
      {"replay"},
      {"replay", "a", "b"},
      {"replay", "no_such_file"},
      {"replay", "a", "--scenario=chat"},
      {"replay", "--scenario=calm"},
      {"replay", "--scenario=chat", "--steps=0"},
      {"replay", "a", "--steps=5"},
      {"replay", "a", "--log=b"},
      {"replay", "--speed=2"},
      {"replay", "--scenario=chat", "--html=/no/such/folder/page.html"},
      {"replay", "--scenario=chat", "--log=/no/such/folder/log"}};
  for (std::vector<std::string> call : calls) {
    call.insert(call.begin(), "blocks");
    const CliResult result = RunCli(call);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
  }
}

}  // namespace
}  // namespace paged::testing
