#include "paged/profile_file.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace paged {
namespace {

TEST(ProfileFileTest, WhatIsWrittenIsRead) {
  for (DeviceProfile profile :
       {H200Profile(), H100Profile(), Rtx3090Profile()}) {
    profile.knee_exponent = 1.0 / 3.0;
    EXPECT_EQ(ParseProfile(ProfileText(profile)).value(), profile);
  }
}

TEST(ProfileFileTest, CommentsAndEmptyLinesAreLeftOut) {
  const std::string text =
      absl::StrCat("# measured\n\n", ProfileText(H200Profile()), "  \n# end");
  EXPECT_EQ(ParseProfile(text).value(), H200Profile());
}

std::string ErrorOf(const std::string& text) {
  return std::string(ParseProfile(text).status().message());
}

TEST(ProfileFileTest, EveryFieldMustBeThereOnce) {
  const std::string text = ProfileText(H200Profile());
  EXPECT_EQ(ErrorOf(absl::StrReplaceAll(text, {{"knee_units 43.1", "#"}})),
            "a profile must have knee_units");
  EXPECT_EQ(ErrorOf(absl::StrCat(text, "knee_units 3\n")),
            "line 28: knee_units is given twice");
  EXPECT_EQ(ErrorOf(absl::StrCat(text, "colour red\n")),
            "line 28 must be a field of a profile and its value; got colour "
            "red");
}

TEST(ProfileFileTest, ValuesMustBeWhatTheirFieldCanBe) {
  const std::string text = ProfileText(H200Profile());
  for (const char* bad : {"-132", "1e9", "many", "", "99999999999"}) {
    EXPECT_EQ(ErrorOf(absl::StrReplaceAll(
                  text, {{"num_units 132", absl::StrCat("num_units ", bad)}})),
              absl::StrCat("line 3: num_units cannot be ", bad));
  }
  for (const char* bad : {"nan", "inf", "-1", "x"}) {
    EXPECT_EQ(ErrorOf(absl::StrReplaceAll(
                  text, {{"bandwidth_gb_per_s 4276",
                          absl::StrCat("bandwidth_gb_per_s ", bad)}})),
              absl::StrCat("line 11: bandwidth_gb_per_s cannot be ", bad));
  }
  EXPECT_EQ(
      ErrorOf(absl::StrReplaceAll(text, {{"num_units 132", "num_units 0"}})),
      "num_units must be above 0; got 0");
}

TEST(ProfileFileTest, AFileThatIsNotThereIsNotFound) {
  EXPECT_EQ(ReadProfile("/nowhere/profile").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace paged
