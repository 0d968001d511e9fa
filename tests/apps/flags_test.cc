#include "apps/flags.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paged {
namespace {

using ::testing::ElementsAre;

const FlagTable& Table() {
  static const FlagTable* const kTable =
      new FlagTable{{"splits", "N", ""}, {"scale", "S", ""}, {"json", "", ""}};
  return *kTable;
}

std::string ErrorOf(const std::vector<std::string>& args) {
  return std::string(Flags::Parse(Table(), args).status().message());
}

TEST(FlagsTest, ReadsBothFormsBeforeAndAfterArguments) {
  const auto flags =
      Flags::Parse(Table(), {"--splits=4", "FILE", "--scale", "0.5", "--json"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_THAT(flags->positional(), ElementsAre("FILE"));
  EXPECT_EQ(*flags->Int("splits", {.min = 0, .max = 9}), 4);
  EXPECT_EQ(*flags->PositiveFloat("scale"), 0.5f);
  EXPECT_TRUE(flags->IsOn("json"));
}

TEST(FlagsTest, ASwitchTakesNoArgument) {
  const auto flags = Flags::Parse(Table(), {"--json", "FILE"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_THAT(flags->positional(), ElementsAre("FILE"));
  EXPECT_FALSE(Flags::Parse(Table(), {"--json=false"})->IsOn("json"));
  EXPECT_EQ(ErrorOf({"--json=7"}),
            "--json must be true or false, or stand alone; got 7");
}

TEST(FlagsTest, TheLastValueCounts) {
  const auto flags = Flags::Parse(Table(), {"--splits=4", "--splits=5"});
  EXPECT_EQ(*flags->Int("splits", {.min = 0, .max = 9}), 5);
}

TEST(FlagsTest, TwoDashesEndTheFlags) {
  const auto flags = Flags::Parse(Table(), {"--", "--splits=4"});
  ASSERT_TRUE(flags.ok()) << flags.status();
  EXPECT_THAT(flags->positional(), ElementsAre("--splits=4"));
}

TEST(FlagsTest, NamesTheNearestFlag) {
  EXPECT_EQ(ErrorOf({"--split=4"}),
            "unknown flag --split; did you mean --splits?");
  EXPECT_EQ(ErrorOf({"-json"}), "unknown flag --json; did you mean --json?");
  EXPECT_EQ(ErrorOf({"--unrelated"}),
            "unknown flag --unrelated; --help lists the flags");
}

TEST(FlagsTest, WantsAValue) {
  EXPECT_EQ(ErrorOf({"--splits"}), "--splits needs a value: --splits=N");
  EXPECT_EQ(ErrorOf({"--splits", "--json"}),
            "--splits needs a value: --splits=N");
}

TEST(FlagsTest, RefusesNumbersThatAreNone) {
  for (const char* value : {"", "x", "4x", " 4", "4.0", "10", "-1",
                            "99999999999999999999", "0x4", "+4"}) {
    const auto flags =
        Flags::Parse(Table(), {std::string("--splits=") + value});
    const auto number = flags->Int("splits", {.min = 0, .max = 9});
    EXPECT_FALSE(number.ok()) << value;
    EXPECT_NE(number.status().message().find("an integer from 0 to 9"),
              absl::string_view::npos);
  }
  for (const char* value :
       {"", "0", "-1", "nan", "inf", "1e99", "1e-99", "x"}) {
    const auto flags = Flags::Parse(Table(), {std::string("--scale=") + value});
    EXPECT_FALSE(flags->PositiveFloat("scale").ok()) << value;
  }
}

}  // namespace
}  // namespace paged
