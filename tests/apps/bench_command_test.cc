#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/bench_row.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"

namespace paged::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Small enough for an instant, on the CPU.
std::vector<std::string> Bench(std::vector<std::string> more) {
  std::vector<std::string> args = {"bench",
                                   "--backend=cpu",
                                   "--threads=1",
                                   "--num_seqs=2",
                                   "--context_len=40",
                                   "--num_q_heads=4",
                                   "--num_kv_heads=2",
                                   "--head_dim=64",
                                   "--warmups=1",
                                   "--runs=5"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

std::vector<std::string> TiersOf(const std::vector<nlohmann::json>& rows) {
  std::vector<std::string> tiers;
  for (const nlohmann::json& row : rows) tiers.push_back(row["tier"]);
  return tiers;
}

TEST(BenchCommandTest, MeasuresEveryTierBesideItsCeiling) {
  const CliResult result = RunCli(Bench({"--json", "--splits=3"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> expected = {"read", "reference", "thrust",
                                       "v1",   "split_k",   "auto"};
  if (result.err.find("thrust") != std::string::npos) {
    expected.erase(expected.begin() + 2);  // not in this build
  }
  const std::vector<nlohmann::json> rows = result.JsonLines();
  EXPECT_EQ(TiersOf(rows), expected);
  for (const nlohmann::json& row : rows) {
    const double median = row["median_us"];
    EXPECT_GT(median, 0);
    EXPECT_GE(double{row["p99_us"]}, median);
    EXPECT_EQ(row["kv_bytes"], 2 * 40 * 2 * 64 * 2 * 2);
    EXPECT_NEAR(double{row["gb_per_s"]} * median,
                double{row["kv_bytes"]} * 1e-3, 1e-6);
    EXPECT_NEAR(double{row["ratio_to_ceiling"]},
                double{rows[0]["median_us"]} / median, 1e-9);
    if (row["tier"] == "read") continue;
    EXPECT_LT(double{row["max_abs_error"]}, 1e-2);
    if (row["tier"] == "split_k") {
      EXPECT_EQ(row["splits"], 3);
      EXPECT_EQ(row["requested_splits"], 3);
      EXPECT_GT(row["workspace_bytes"], 0);
    }
    if (!row["peak_bytes"].is_null()) {
      EXPECT_EQ(double{row["peak_bytes"]}, double{row["workspace_bytes"]} +
                                               double{row["allocated_bytes"]});
    }
  }
}

TEST(BenchCommandTest, TheEnvironmentHasNoSay) {
  const CliResult result =
      RunCli(Bench({"--json", "--tiers=auto"}),
             {{"PAGED_VARIANT", "split_k"}, {"PAGED_SPLITS", "7"}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.JsonLines().at(1)["splits"], 7);
  EXPECT_EQ(result.JsonLines().at(1)["decided_by"], "cost_model");
}

TEST(BenchCommandTest, PrintsTheSameRowsAsTableAndCsv) {
  const CliResult table = RunCli(Bench({"--tiers=v1,auto"}));
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("of ceiling"));
  EXPECT_THAT(table.out, HasSubstr("\nv1 "));
  EXPECT_THAT(table.out, HasSubstr("\nread "));

  const CliResult csv = RunCli(Bench({"--tiers=v1,auto", "--csv"}));
  const absl::StatusOr<std::vector<BenchRow>> rows = ParseCsv(csv.out);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[1].tier, "v1");
  EXPECT_EQ((*rows)[1].context_len, 40);
}

TEST(BenchCommandTest, LeavesOutWhatIsSlowAndSaysSo) {
  // 8 MB: above the reference's limit, below the baseline's.
  const CliResult result =
      RunCli({"bench", "--backend=cpu", "--num_seqs=4", "--context_len=1024",
              "--num_q_heads=4", "--num_kv_heads=4", "--warmups=1", "--runs=5",
              "--max_seconds=0.01", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--tiers=reference"));
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("\"tier\":\"reference\"")));
}

TEST(BenchCommandTest, EndsWithTwoAndOneLineOnBadUsage) {
  for (const char* flag :
       {"--num_seqs=0", "--context_len=0", "--dtype=fp32", "--tiers=v2",
        "--tiers=", "--runs=0", "--num_q_heads=3", "--tier=v1", "word",
        "--max_seconds=-1", "--splits=2000"}) {
    const CliResult result = RunCli(Bench({flag}));
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(BenchCommandTest, EndsWithThreeForWantOfMemory) {
  const CliResult result = RunCli(
      {"bench", "--backend=cpu", "--num_seqs=4096", "--context_len=131072"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("GB"));
}

TEST(BenchRowTest, ReadsWhatItWrote) {
  BenchRow row;
  row.backend = "cpu";
  row.device = "a device, \"quoted\"";
  row.tier = "split_k";
  row.requested_splits = 4;
  row.median_us = 12.5;
  row.kv_bytes = int64_t{1} << 40;
  const absl::StatusOr<std::vector<BenchRow>> rows =
      ParseCsv(absl::StrCat(CsvHeader(), CsvLine(row)));
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  const BenchRow& read = rows->front();
  EXPECT_EQ(KeyOf(read), KeyOf(row));
  EXPECT_EQ(CsvLine(read), CsvLine(row));
  EXPECT_EQ(read.kv_bytes, row.kv_bytes);
  EXPECT_EQ(read.median_us, 12.5);
  EXPECT_TRUE(std::isnan(read.mean_us));
  EXPECT_EQ(nlohmann::json::parse(JsonOf(read))["mean_us"], nullptr);
}

TEST(BenchRowTest, PassesOverHalfALineAndNamesABadOne) {
  BenchRow row;
  row.tier = "v1";
  const std::string whole = absl::StrCat(CsvHeader(), CsvLine(row));
  const std::string half = CsvLine(row).substr(0, 20);
  EXPECT_EQ(ParseCsv(absl::StrCat(whole, half))->size(), 1u);
  EXPECT_EQ(ParseCsv(CsvHeader())->size(), 0u);

  EXPECT_THAT(std::string(ParseCsv("").status().message()),
              StartsWith("line 1 "));
  EXPECT_THAT(std::string(ParseCsv("a,b\n").status().message()),
              StartsWith("line 1 "));
  EXPECT_THAT(
      std::string(ParseCsv(absl::StrCat(whole, half, "\n")).status().message()),
      StartsWith("line 3 must have"));
  std::string bad = CsvLine(row);
  bad.replace(bad.find(",0,"), 3, ",x,");
  EXPECT_THAT(
      std::string(ParseCsv(absl::StrCat(whole, bad)).status().message()),
      HasSubstr("bad num_units: x"));
}

}  // namespace
}  // namespace paged::testing
