// The environment speaks where the flags do not.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/cli_runner.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  Environment environment;
  std::vector<std::string> flags;
  std::string variant;
  int splits;
  std::string decided_by;
};

class RunEnvironmentTest : public ::testing::TestWithParam<Case> {};

TEST_P(RunEnvironmentTest, DecidesWhatWasSaid) {
  const Case& c = GetParam();
  const TemporaryFile file(SmallLayer({}).Build());
  std::vector<std::string> args = {"run", file.path(), "--backend=cpu",
                                   "--json"};
  args.insert(args.end(), c.flags.begin(), c.flags.end());
  const CliResult result = RunCli(args, c.environment);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json line = result.JsonLines().at(0);
  EXPECT_EQ(line["variant"], c.variant);
  EXPECT_EQ(line["splits"], c.splits);
  EXPECT_EQ(line["decided_by"], c.decided_by);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RunEnvironmentTest,
    ::testing::Values(Case{"Nobody", {}, {}, "v1", 1, "cost_model"},
                      Case{"Variant",
                           {{"PAGED_VARIANT", "reference"}},
                           {},
                           "reference",
                           1,
                           "PAGED_VARIANT"},
                      Case{"Splits",
                           {{"PAGED_SPLITS", "3"}},
                           {},
                           "split_k",
                           3,
                           "PAGED_SPLITS"},
                      Case{"FlagBeatsVariant",
                           {{"PAGED_VARIANT", "reference"}},
                           {"--variant=v1"},
                           "v1",
                           1,
                           "--variant"},
                      Case{"AutoBeatsVariant",
                           {{"PAGED_VARIANT", "reference"}},
                           {"--variant=auto"},
                           "v1",
                           1,
                           "cost_model"},
                      Case{"FlagBeatsSplits",
                           {{"PAGED_SPLITS", "3"}},
                           {"--splits=2"},
                           "split_k",
                           2,
                           "--splits"},
                      Case{"FlagOfVariantKeepsSplits",
                           {{"PAGED_SPLITS", "3"}},
                           {"--variant=split_k"},
                           "split_k",
                           3,
                           "--variant"}),
    [](const auto& test) { return test.param.name; });

TEST(RunEnvironmentTest, AllIsNotDisturbedBySplits) {
  const TemporaryFile file(SmallLayer({}).Build());
  const CliResult result =
      RunCli({"run", file.path(), "--backend=cpu", "--json", "--variant=all"},
             {{"PAGED_SPLITS", "3"}, {"PAGED_VARIANT", "v1"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.JsonLines().back()["splits"], 3);
  EXPECT_EQ(result.JsonLines().back()["decided_by"], "PAGED_SPLITS");
}

TEST(RunEnvironmentTest, BadValuesNameTheirVariable) {
  const TemporaryFile file(SmallLayer({}).Build());
  const std::pair<const char*, const char*> bad[] = {
      {"PAGED_VARIANT", "v3"},
      {"PAGED_VARIANT", "all"},
      {"PAGED_SPLITS", "-1"},
      {"PAGED_SPLITS", "many"},
      {"PAGED_REDUCTION", "telepathy"}};
  for (const auto& [variable, value] : bad) {
    for (const char* command : {"run", "explain"}) {
      std::vector<std::string> args = {command};
      if (command == std::string("run")) args.push_back(file.path());
      const CliResult result = RunCli(args, {{variable, value}});
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
      EXPECT_THAT(result.err, HasSubstr(variable));
      EXPECT_THAT(result.err, HasSubstr(value));
    }
  }
}

TEST(RunEnvironmentTest, ReferenceIsRefusedOnCuda) {
  // Where there is no GPU, that is said instead.
  const TemporaryFile file(SmallLayer({}).Build());
  const CliResult result = RunCli({"run", file.path(), "--backend=cuda"},
                                  {{"PAGED_VARIANT", "reference"}});
  EXPECT_THAT(result.exit_code, ::testing::AnyOf(2, 3));
  EXPECT_TRUE(result.ErrIsOneLine()) << result.err;
}

}  // namespace
}  // namespace paged::testing
