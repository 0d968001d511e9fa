#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/svg.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"
#include "tests/support/temporary_folder.h"

namespace paged::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

class ReportCommandTest : public ::testing::Test {
 protected:
  // Of shapes that take an instant, on the CPU.
  CliResult Report(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {
        "report",          absl::StrCat("--out=", page_),
        "--backend=cpu",   "--threads=1",
        "--num_seqs=1,3",  "--context_len=64",
        "--num_q_heads=2", "--num_kv_heads=1",
        "--head_dim=64",   "--warmups=1",
        "--runs=5",        "--context_lens=16,48"};
    args.insert(args.end(), more.begin(), more.end());
    return RunCli(args);
  }

  const TemporaryFolder folder_;
  const std::string page_ = folder_.PathOf("report.html");
};

TEST_F(ReportCommandTest, ShowsAllItsPartsAndStandsAlone) {
  const CliResult result = Report();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string page = TextOf(page_);
  for (const char* part :
       {"<h2>Machine</h2>", "<h2>Times</h2>", "<h2>By context length</h2>",
        "<h2>Who works when</h2>", "<h2>The decision</h2>", "ceiling: reading",
        "1 × 16</td>", "3 × 48</td>", "3 × 64: v1", "programs on 1 thread"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  // Two plots for each batch, and v1 and split_k of each.
  EXPECT_EQ(CountOf(page, "<svg"), 8);
  EXPECT_EQ(CountOf(page, "</svg>"), 8);
  EXPECT_EQ(CountOf(page, "<figcaption>"), 8);
  // Nothing is loaded, and nothing runs.
  for (const char* link : {"http:", "https:", "<script", "<link rel=\"style",
                           "@import", "src=", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(link)));
  }
}

TEST_F(ReportCommandTest, TakesTheRowsOfAScan) {
  const std::string csv = folder_.PathOf("rows.csv");
  ASSERT_EQ(RunCli({"scan", "--backend=cpu", "--csv=" + csv, "--over=batch",
                    "--context_len=32", "--num_q_heads=2", "--num_kv_heads=1",
                    "--head_dim=64", "--warmups=1", "--runs=5"})
                .exit_code,
            0);
  const CliResult result = Report({"--csv=" + csv});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string page = TextOf(page_);
  EXPECT_THAT(page, HasSubstr("256 × 32</td>"));
  EXPECT_THAT(page, Not(HasSubstr("1 × 16</td>")));

  // Rows of a GPU are no rows of this CPU.
  std::string text = TextOf(csv);
  const std::size_t begin = text.rfind("\ncpu,") + 1;
  text += absl::StrCat("cuda", text.substr(begin + 3));
  text.replace(text.rfind(",256,32,"), 8, ",512,32,");
  std::ofstream(csv) << text;
  ASSERT_EQ(Report({"--csv=" + csv}).exit_code, 0);
  EXPECT_THAT(TextOf(page_), Not(HasSubstr("512 × 32</td>")));

  const CliResult other = Report({"--csv=" + csv, "--head_dim=128"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("no rows of"));
}

TEST_F(ReportCommandTest, EndsWithTwoAndOneLineOnBadUsage) {
  for (const char* flag :
       {"--csv=/no/such/file.csv", "--num_seqs=0", "--context_lens=a",
        "--out=", "--dtype=fp32", "word"}) {
    const CliResult result = Report({flag});
    EXPECT_EQ(result.exit_code, 2) << flag;
    EXPECT_TRUE(result.ErrIsOneLine()) << flag << result.err;
  }
  EXPECT_EQ(RunCli({"report"}).exit_code, 2);
  // Before anything is measured, which would show its progress.
  const CliResult unwritable = RunCli({"report", "--out=/no/such/page.html"});
  EXPECT_EQ(unwritable.exit_code, 2);
  EXPECT_TRUE(unwritable.ErrIsOneLine()) << unwritable.err;
  EXPECT_THAT(unwritable.err, HasSubstr("--out must be a file that can be"));
}

TEST(ChartSvgTest, JoinsNeighboursAndLeavesGaps) {
  const Chart chart = {
      .title = "a < b",
      .x_label = "x",
      .y_label = "y",
      .xs = {1, 2, 4, 8},
      .lines = {{.tier = "v1", .label = "v1", .values = {1, NAN, 3, 4}}}};
  const std::string svg = ChartSvg(chart);
  const std::size_t begin = svg.find("<path d=\"");
  const std::string path = svg.substr(begin, svg.find("\"/>", begin) - begin);
  EXPECT_EQ(CountOf(path, "M"), 2);
  EXPECT_EQ(CountOf(path, "L"), 1);
  EXPECT_EQ(CountOf(svg, "<circle"), 3);
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_EQ(CountOf(svg, "nan"), 0);
}

TEST(TimelineSvgTest, DrawsABarPerProgramOnItsRow) {
  StepTrace step;
  step.profile.num_units = 2;
  step.programs = {{.unit = 0, .seq = 0, .span = {0, 4}},
                   {.unit = 1, .seq = 1, .span = {4, 8}},
                   {.unit = 1, .is_reduction = true, .span = {8, 9}}};
  const std::string svg = TimelineSvg(step);
  EXPECT_EQ(CountOf(svg, "class=\"program even\""), 1);
  EXPECT_EQ(CountOf(svg, "class=\"program odd\""), 1);
  EXPECT_EQ(CountOf(svg, "class=\"reduction\""), 1);
}

// The page in a browser, with a probe in it that logs what a reader would see.
class ReportBrowserTest : public ReportCommandTest {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "there is no chromium to open the page with";
    }
    ASSERT_EQ(Report().exit_code, 0);
    std::string page = TextOf(page_);
    page.insert(page.rfind("</body>"), R"(<script>
      const small = [...document.querySelectorAll('svg')].filter(
          svg => svg.getBoundingClientRect().width < 200);
      console.log('probe', getComputedStyle(document.body).backgroundColor,
                  'width', innerWidth,
                  document.documentElement.scrollWidth > innerWidth,
                  'svg', document.querySelectorAll('svg').length,
                  small.length);
    </script>)");
    std::ofstream(page_) << page;
  }

  // What the console said.
  std::vector<std::string> Console(bool is_dark, int width) const {
    // In a frame, as windows have a smallest width that phones are below.
    std::ofstream(folder_.PathOf("frame.html"))
        << "<!DOCTYPE html><body style=\"margin:0\"><iframe "
           "src=\"report.html\" "
           "style=\"border:0\" height=2000 width="
        << width << "></iframe></body>";
    const std::string command = absl::StrCat(
        "timeout 240 chromium --headless --no-sandbox --disable-gpu "
        "--hide-scrollbars --enable-logging=stderr --v=0 --user-data-dir=",
        folder_.PathOf("profile"), " --window-size=1280,2000 ",
        is_dark ? "--blink-settings=preferredColorScheme=0 "
                : "--blink-settings=preferredColorScheme=1 ",
        "--screenshot=", folder_.PathOf("page.png"), " file://",
        folder_.PathOf("frame.html"), " 2>&1");
    std::vector<std::string> lines;
    std::FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) {
      if (absl::StrContains(buffer, "CONSOLE")) lines.emplace_back(buffer);
    }
    EXPECT_EQ(pclose(pipe), 0);
    EXPECT_GT(std::filesystem::file_size(folder_.PathOf("page.png")), 10'000u);
    return lines;
  }
};

TEST_F(ReportBrowserTest, RendersLightAndDarkOnPhoneAndDesktop) {
  for (bool is_dark : {false, true}) {
    for (int width : {390, 1280}) {
      const std::vector<std::string> console = Console(is_dark, width);
      // The probe alone: no error, no warning.
      ASSERT_EQ(console.size(), 1u) << ::testing::PrintToString(console);
      EXPECT_THAT(
          console.front(),
          HasSubstr(absl::StrCat(
              "probe ", is_dark ? "rgb(16, 20, 24)" : "rgb(255, 255, 255)",
              " width ", width, " false svg 8 0")));
    }
  }
}

}  // namespace
}  // namespace paged::testing
