#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/bench_row.h"
#include "apps/progress.h"
#include "apps/row_file.h"
#include "apps/scan_points.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/program.h"
#include "tests/support/temporary_folder.h"

namespace paged::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

class ScanCommandTest : public ::testing::Test {
 protected:
  // Points that take an instant, on the CPU.
  std::vector<std::string> Args(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"scan",
                                     "--backend=cpu",
                                     "--threads=1",
                                     absl::StrCat("--csv=", path_),
                                     "--over=splits",
                                     "--num_seqs=1,2",
                                     "--context_len=64",
                                     "--num_q_heads=2",
                                     "--num_kv_heads=1",
                                     "--head_dim=64",
                                     "--warmups=1",
                                     "--runs=5"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  std::string Text() const {
    std::ifstream stream(path_);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

  std::vector<BenchRow> Rows() const {
    const absl::StatusOr<std::vector<BenchRow>> rows = ReadRows(path_);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.value_or(std::vector<BenchRow>());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.PathOf("rows.csv");
};

// Of each of two batches: read, v1, split_k, auto and seven forced counts.
constexpr int kNumRows = 2 * 11;

TEST_F(ScanCommandTest, WritesARowForEveryTierOfEveryPoint) {
  const CliResult result = RunCli(Args());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<BenchRow> rows = Rows();
  EXPECT_EQ(rows.size(), kNumRows);
  std::set<std::string> keys;
  for (const BenchRow& row : rows) {
    keys.insert(KeyOf(row));
    EXPECT_GT(row.median_us, 0);
    if (row.requested_splits > 0) {
      EXPECT_EQ(row.splits, row.requested_splits);
    }
  }
  EXPECT_EQ(keys.size(), rows.size());
  EXPECT_THAT(result.err, HasSubstr("1/2  1 x 64"));
  EXPECT_THAT(result.err, Not(HasSubstr("\r")));
}

TEST_F(ScanCommandTest, ResumeAddsWhatIsMissingAndKeepsTheRest) {
  ASSERT_EQ(RunCli(Args()).exit_code, 0);
  const std::string whole = Text();
  // The last three rows are lost, the last but two in its middle.
  std::size_t cut = whole.size();
  for (int i = 0; i < 3; ++i) cut = whole.rfind('\n', cut - 2) + 1;
  const std::string kept = whole.substr(0, cut);
  std::ofstream(path_) << whole.substr(0, cut + 9);

  const CliResult result = RunCli(Args({"--resume"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(absl::StartsWith(Text(), kept));
  EXPECT_EQ(Rows().size(), kNumRows);
  EXPECT_THAT(result.err, Not(HasSubstr("1 x 64")));
  EXPECT_THAT(result.err, HasSubstr("2/2  2 x 64"));

  const std::string before = Text();
  const CliResult again = RunCli(Args({"--resume"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.err, IsEmpty());
  EXPECT_EQ(Text(), before);
}

TEST_F(ScanCommandTest, LosesNoFileThatIsThere) {
  std::ofstream(path_) << "precious\n";
  CliResult result = RunCli(Args());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--overwrite"));
  result = RunCli(Args({"--resume"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("line 1"));
  EXPECT_EQ(Text(), "precious\n");

  EXPECT_EQ(RunCli(Args({"--overwrite"})).exit_code, 0);
  EXPECT_EQ(Rows().size(), kNumRows);
}

TEST_F(ScanCommandTest, EndsWithTwoAndOneLineOnBadUsage) {
  for (const char* flag :
       {"--over=contexts", "--over=", "--num_seqs=0", "--num_seqs=8,",
        "--num_seqs=8;64", "--csv=", "--csv=/no/such/folder/x.csv", "word"}) {
    const CliResult result = RunCli(Args({flag}));
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
  }
  EXPECT_EQ(RunCli({"scan"}).exit_code, 2);
  EXPECT_EQ(RunCli(Args({"--resume", "--overwrite"})).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ScanCommandTest, CtrlCLeavesAFileThatResumeGoesOnWith) {
  if (!std::filesystem::exists(FindProgram())) {
    GTEST_SKIP() << "the program is not at " << FindProgram();
  }
  // Nine batches. The signal comes after the first one's rows, and the others
  // would take minutes.
  std::vector<std::string> args =
      Args({"--over=batch", "--runs=20000", "--max_seconds=60"});
  bool is_sent = false;
  const ProcessResult interrupted = RunOnTerminal(args, {}, [&](pid_t process) {
    if (is_sent || Text().size() <= CsvHeader().size()) return;
    is_sent = kill(process, SIGINT) == 0;
  });
  EXPECT_TRUE(is_sent);
  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.output;
  EXPECT_THAT(interrupted.output, HasSubstr("--resume goes on"));
  // The bar, and the time that is left.
  EXPECT_THAT(interrupted.output, HasSubstr("\r"));
  EXPECT_THAT(interrupted.output, HasSubstr("[........"));
  const std::string text = Text();
  ASSERT_TRUE(ParseCsv(text).ok());
  EXPECT_EQ(text.back(), '\n');
  const std::size_t num_rows = Rows().size();
  EXPECT_GT(num_rows, 0u);
  EXPECT_LT(num_rows, 9u * 4);

  ASSERT_EQ(RunCli(Args({"--over=batch", "--resume"})).exit_code, 0);
  EXPECT_TRUE(absl::StartsWith(Text(), text));
  EXPECT_EQ(Rows().size(), 9u * 4);
}

TEST(ScanPointsTest, DefaultsAreTheContextsOfTheFirstText) {
  const auto points = ScanPoints({});
  ASSERT_TRUE(points.ok());
  ASSERT_EQ(points->size(), 12u);
  const ShapeRequest& first = points->front().shape;
  const ShapeRequest& last = points->back().shape;
  EXPECT_EQ(first.num_seqs, 8);
  EXPECT_EQ(first.context_len, 128);
  EXPECT_EQ(last.num_seqs, 64);
  EXPECT_EQ(last.context_len, 4096);
  EXPECT_EQ(first.num_q_heads, 8);
  EXPECT_EQ(first.num_kv_heads, 4);
  EXPECT_EQ(first.head_dim, 128);
  EXPECT_EQ(first.block_size, 16);
  EXPECT_EQ(ScanPoints({.is_long = true})->back().shape.context_len, 131072);
}

TEST(ScanPointsTest, AllIsEveryScanAndNoShapeComesTwice) {
  const auto all = ScanPoints({.over = {"all"}});
  ASSERT_TRUE(all.ok());
  for (const std::string& name : ScanNames()) {
    const auto points = ScanPoints({.over = {name}});
    for (const BenchPoint& point : points.value()) {
      int num_found = 0;
      for (const BenchPoint& candidate : *all) {
        if (candidate.shape != point.shape) continue;
        ++num_found;
        EXPECT_THAT(candidate.tiers, IsSupersetOf(point.tiers)) << name;
      }
      EXPECT_EQ(num_found, 1) << name;
    }
  }
  EXPECT_FALSE(ScanPoints({.over = {"context", "x"}}).ok());
}

TEST(ProgressTest, BarSaysHowMuchIsDoneAndLeft) {
  EXPECT_EQ(ProgressBar(0, 4, 0), "[........................] 0/4");
  EXPECT_EQ(ProgressBar(1, 4, 30), "[######..................] 1/4, 1:30 left");
  EXPECT_EQ(ProgressBar(4, 4, 99), "[########################] 4/4");
}

}  // namespace
}  // namespace paged::testing
