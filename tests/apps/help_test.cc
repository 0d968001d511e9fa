// What every command owes its user: help with an example, and a hint at what a
// mistyped word may have meant.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/program.h"

namespace paged::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

// The names in "  paged NAME ..." lines of the program's help.
std::vector<std::string> CommandsOfHelp() {
  std::vector<std::string> names;
  std::istringstream help(RunCli({"--help"}).out);
  for (std::string line; std::getline(help, line);) {
    std::istringstream words(line);
    std::string program, name;
    if (line.rfind("  paged ", 0) == 0 && words >> program >> name &&
        name.rfind("--", 0) != 0 && name != "COMMAND") {
      names.push_back(name);
    }
  }
  return names;
}

TEST(HelpTest, NamesEveryCommand) {
  EXPECT_THAT(CommandsOfHelp(), IsSupersetOf({"run", "explain", "bench", "scan",
                                              "trace", "report"}));
}

TEST(HelpTest, EveryCommandHasAnExampleAndItsFlags) {
  for (const std::string& name : CommandsOfHelp()) {
    const CliResult result = RunCli({name, "--help"});
    EXPECT_EQ(result.exit_code, 0) << name << result.err;
    EXPECT_THAT(result.out, HasSubstr(absl::StrCat("\n  paged ", name, " ")));
    EXPECT_THAT(result.out, HasSubstr("--help"));
    EXPECT_EQ(RunCli({name, "-h"}).out, result.out);
  }
}

TEST(HelpTest, MistypedFlagsAndCommandsFindTheirNeighbours) {
  for (const char* name :
       {"run", "explain", "bench", "scan", "trace", "report"}) {
    const CliResult result = RunCli({name, "--hlep"});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.err, HasSubstr("did you mean --help?"));
  }
  EXPECT_THAT(RunCli({"bench", "--num_seq=8"}).err,
              HasSubstr("did you mean --num_seqs?"));
  EXPECT_THAT(RunCli({"sacn"}).err, HasSubstr("did you mean scan?"));
  EXPECT_THAT(RunCli({"scan", "--cvs=x"}).err,
              HasSubstr("did you mean --csv?"));
  EXPECT_THAT(RunCli({"xyzzyx"}).err, Not(HasSubstr("did you mean")));
}

TEST(HelpTest, VersionSaysWhatWasBuilt) {
  const CliResult result = RunCli({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part : {"paged ", "\ncommit ", "CUDA", "\nCPU kernels: "}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

class ColourTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(FindProgram())) {
      GTEST_SKIP() << "the program is not at " << FindProgram();
    }
  }

  static std::string Map(const std::vector<std::string>& environment) {
    return RunOnTerminal({"explain", "--sweep", "--device=h200"}, environment)
        .output;
  }
};

TEST_F(ColourTest, TerminalsGetColoursUnlessTheUserSaysNo) {
  EXPECT_THAT(Map({"TERM=xterm", "NO_COLOR="}), HasSubstr("\033[32m"));
  EXPECT_THAT(Map({"TERM=xterm", "NO_COLOR=1"}), Not(HasSubstr("\033")));
  EXPECT_THAT(Map({"TERM=dumb", "NO_COLOR="}), Not(HasSubstr("\033")));
}

TEST_F(ColourTest, FilesAndPipesGetNone) {
  EXPECT_THAT(RunCli({"explain", "--sweep", "--device=h200"}).out,
              Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace paged::testing
