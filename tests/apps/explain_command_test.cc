#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/grid_picture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"

namespace paged::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

nlohmann::json ExplainJson(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"explain", "--json"});
  const CliResult result = RunCli(flags);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.exit_code == 0 ? result.JsonLines().at(0) : nlohmann::json();
}

TEST(ExplainCommandTest, HasExactlyItsFieldsOnEveryDevice) {
  for (const char* device : {"this", "h200", "h100", "rtx3090", "cpu"}) {
    const nlohmann::json json =
        ExplainJson({absl::StrCat("--device=", device)});
    EXPECT_THAT(KeysOf(json),
                ElementsAre("candidates", "chosen", "decided_by"));
    EXPECT_EQ(json["decided_by"], "cost_model");
    ASSERT_GT(json["candidates"].size(), 2u) << device;
    int num_chosen = 0;
    for (nlohmann::json candidate : json["candidates"]) {
      EXPECT_THAT(KeysOf(candidate),
                  ElementsAre("ctas", "instance", "kv_bytes", "partition",
                              "predicted_us", "reduction", "rejected_because",
                              "resident_ctas", "splits", "variant", "waves"));
      // 8 x 4096 tokens x 8 kv heads x 128 dims x 2 bytes, keys and values.
      EXPECT_EQ(candidate["kv_bytes"], 134217728);
      num_chosen += candidate == json["chosen"];
    }
    EXPECT_EQ(num_chosen, 1) << device;
    EXPECT_EQ(json["chosen"]["rejected_because"], "");
  }
}

TEST(ExplainCommandTest, NothingThatFitsIsFasterThanTheChoice) {
  for (const char* seqs : {"1", "8", "64"}) {
    const nlohmann::json json =
        ExplainJson({"--device=h200", "--num_seqs", seqs});
    for (const nlohmann::json& candidate : json["candidates"]) {
      if (candidate["predicted_us"] == 0) continue;
      EXPECT_GE(candidate["predicted_us"], json["chosen"]["predicted_us"]);
    }
  }
}

TEST(ExplainCommandTest, SplitsALoneSequence) {
  const std::vector<std::string> lone = {"--num_seqs=1", "--context_len=131072",
                                         "--device=h200"};
  const nlohmann::json json = ExplainJson(lone);
  EXPECT_EQ(json["chosen"]["variant"], "split_k");
  EXPECT_EQ(json["chosen"]["partition"], "splits");
  EXPECT_NE(json["chosen"]["reduction"], "none");
  EXPECT_GE(json["chosen"]["ctas"], 44);
}

TEST(ExplainCommandTest, ObeysFlagsAndSaysSo) {
  const nlohmann::json json =
      ExplainJson({"--device=h200", "--variant=split_k", "--splits=5"});
  EXPECT_EQ(json["chosen"]["splits"], 5);
  EXPECT_EQ(json["decided_by"], "--variant");
  const CliResult environment =
      RunCli({"explain", "--device=h200", "--json"}, {{"PAGED_SPLITS", "6"}});
  EXPECT_EQ(environment.JsonLines().at(0)["decided_by"], "PAGED_SPLITS");
}

TEST(ExplainCommandTest, PrintsChoiceReasonAndNoImpossiblePrediction) {
  const CliResult result = RunCli({"explain", "--device=rtx3090"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("predicted us"));
  EXPECT_THAT(result.out, HasSubstr("\n> "));
  EXPECT_THAT(result.out, HasSubstr("chosen   "));
  EXPECT_THAT(result.out, HasSubstr("estimated"));
  EXPECT_THAT(result.out, HasSubstr("82 SMs"));
  EXPECT_EQ(result.out.find(" 0.0  "), std::string::npos) << result.out;
}

TEST(ExplainCommandTest, AWindowIsWhatIsRead) {
  const nlohmann::json json =
      ExplainJson({"--device=cpu", "--context_len=131072", "--window=512",
                   "--sink_tokens=4", "--attention_chunk=400"});
  EXPECT_EQ(json["chosen"]["instance"], "fp16_d128_general_cpu");
  EXPECT_EQ(json["chosen"]["kv_bytes"], 8 * 404 * 8 * 2 * 128 * 2);
}

TEST(ExplainCommandTest, DescribesBaselinesAndEmptyBatches) {
  for (const char* flag :
       {"--variant=reference", "--variant=thrust", "--num_seqs=0",
        "--context_len=0", "--context_len=1"}) {
    const CliResult result = RunCli({"explain", "--device=cpu", flag});
    EXPECT_EQ(result.exit_code, 0) << flag << result.err;
    ExplainJson({"--device=cpu", flag});
  }
}

TEST(ExplainCommandTest, LensShowTheScheduleOfARaggedBatch) {
  const CliResult result =
      RunCli({"explain", "--device=h200", "--lens=63x1024,131072"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("split_k in chunks"));
  EXPECT_THAT(result.out, HasSubstr("63 x   1024 tokens  sequences 0 to 62, "
                                    "whole"));
  EXPECT_THAT(result.out, HasSubstr("sequence 63, chunks 1 to "));
  const CliResult v1 =
      RunCli({"explain", "--device=h200", "--variant=v1", "--lens=8x1024"});
  EXPECT_THAT(v1.out, HasSubstr("schedule none: the partition is whole"));
}

TEST(ExplainCommandTest, RefusesLensThatAreNone) {
  for (const char* lens :
       {"", "x", "3x", "-1", "0x5", "1x2x3", "1,,2", "a", "65537x1"}) {
    const CliResult result = RunCli({"explain", absl::StrCat("--lens=", lens)});
    EXPECT_EQ(result.exit_code, 2) << lens;
    EXPECT_THAT(result.err, HasSubstr("--lens must be")) << lens;
  }
  EXPECT_THAT(RunCli({"explain", "--lens=5", "--num_seqs=2"}).err,
              HasSubstr("--num_seqs must be left out with --lens"));
}

TEST(ExplainCommandTest, SweepShowsWhereSplitsEnd) {
  const CliResult json =
      RunCli({"explain", "--sweep", "--device=h200", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const auto cells = json.JsonLines();
  ASSERT_EQ(cells.size(), 9u * 11);
  EXPECT_EQ(cells.front()["context_len"], 128);
  EXPECT_EQ(cells.back()["num_seqs"], 256);
  // One sequence of 131072 tokens is split; 32 of 4096 fill the chip.
  EXPECT_EQ(cells[10]["variant"], "split_k");
  EXPECT_EQ(cells[5 * 11 + 5]["num_seqs"], 32);
  EXPECT_EQ(cells[5 * 11 + 5]["context_len"], 4096);
  EXPECT_EQ(cells[5 * 11 + 5]["variant"], "v1");

  const CliResult text = RunCli({"explain", "--sweep", "--device=h200"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("128k"));
  EXPECT_THAT(text.out, HasSubstr("\n           256"));
  EXPECT_THAT(text.out, HasSubstr("v1 from"));
  EXPECT_EQ(text.out.find('\033'), std::string::npos);
}

TEST(ExplainCommandTest, SweepObeysWhatIsForced) {
  const CliResult result = RunCli(
      {"explain", "--sweep", "--device=rtx3090", "--variant=v1", "--json"});
  for (const nlohmann::json& cell : result.JsonLines()) {
    EXPECT_EQ(cell["variant"], "v1");
  }
}

TEST(ExplainCommandTest, DrawsTheGridOnTheSms) {
  // 4 CTAs of v1 on 132 SMs.
  const CliResult result =
      RunCli({"explain", "--device=h200", "--num_seqs=1", "--num_q_heads=8",
              "--num_kv_heads=4", "--variant=v1"});
  EXPECT_THAT(result.out, HasSubstr("4 CTAs, 128 of 132 SMs idle"));
  EXPECT_THAT(result.out, HasSubstr("SM   0  1111" + std::string(62, '.')));
  EXPECT_THAT(result.out, HasSubstr("SM  66  " + std::string(66, '.')));
}

TEST(GridPictureTest, DealsOneToEachUnitInTurn) {
  EXPECT_THAT(DealCtas(0, 3, 2), ElementsAre(0, 0, 0));
  EXPECT_THAT(DealCtas(4, 3, 2), ElementsAre(2, 1, 1));
  // What does not fit waits for the next wave.
  EXPECT_THAT(DealCtas(100, 3, 2), ElementsAre(2, 2, 2));
}

TEST(ExplainCommandTest, EndsWithTwoAndOneLineOnBadUsage) {
  const std::vector<std::vector<std::string>> calls = {
      {"--num_seqs=-1"},
      {"--num_seqs=2147483648"},
      {"--num_q_heads=10", "--num_kv_heads=4"},
      {"--num_kv_heads=0"},
      {"--head_dim=0"},
      {"--block_size=1025"},
      {"--dtype=fp8"},
      {"--device=h300"},
      {"--device=h200", "--head_dim=100"},
      {"--device=h200", "--head_dim=520"},
      {"--variant=all"},
      {"--variant=v1", "--splits=2"},
      {"--splits=2000"},
      {"--window=-1"},
      {"--sweep", "--window=512"},
      {"--num_seqs=2147483647", "--context_len=2147483647", "--block_size=1"},
      {"FILE"},
      {"--context_length=5"}};
  for (std::vector<std::string> call : calls) {
    call.insert(call.begin(), "explain");
    const CliResult result = RunCli(call);
    EXPECT_EQ(result.exit_code, 2) << call.at(1) << result.out;
    EXPECT_TRUE(result.ErrIsOneLine()) << call.at(1) << result.err;
  }
}

TEST(ExplainCommandTest, VerboseDispatchPrintsTheDecisionAsPlanningDoes) {
  for (int i = 0; i < 2; ++i) {
    const CliResult result = RunCli({"explain", "--device=h200", "--json"},
                                    {{"PAGED_VERBOSE", "dispatch"}});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
    EXPECT_THAT(result.err, StartsWith("paged: "));
    EXPECT_THAT(result.err,
                HasSubstr(result.JsonLines()[0]["chosen"]["variant"]));
  }
  EXPECT_EQ(RunCli({"explain", "--device=h200"}).err, "");
}

TEST(ExplainCommandTest, HelpNamesEveryDefault) {
  const CliResult result = RunCli({"explain", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* text : {"(8)", "(4096)", "(32)", "(128)", "(16)", "(fp16)",
                           "(this)", "paged explain --num_seqs=8"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
}

}  // namespace
}  // namespace paged::testing
