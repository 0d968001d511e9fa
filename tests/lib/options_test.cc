#include "paged/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace paged {
namespace {

using Environment = std::map<std::string, std::string>;

absl::StatusOr<DecodeOptions> Resolve(const DecodeOptions& options,
                                      const Environment& environment) {
  return ResolveOptions(
      options, [&](const char* variable) -> std::optional<std::string> {
        const auto it = environment.find(variable);
        if (it == environment.end()) return std::nullopt;
        return it->second;
      });
}

std::string ErrorOf(const DecodeOptions& options,
                    const Environment& environment = {}) {
  const absl::Status status = Resolve(options, environment).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(OptionsTest, NothingSaidLeavesEverythingOpen) {
  const DecodeOptions options = Resolve({}, {}).value();
  EXPECT_FALSE(options.variant.has_value());
  EXPECT_FALSE(options.splits.has_value());
  EXPECT_FALSE(options.reduction.has_value());
  EXPECT_FALSE(options.print_dispatch);
}

TEST(OptionsTest, TheEnvironmentSpeaksWhereTheCodeIsSilent) {
  const DecodeOptions options = Resolve({}, {{"PAGED_VARIANT", "split_k"},
                                             {"PAGED_SPLITS", "7"},
                                             {"PAGED_REDUCTION", "second_pass"},
                                             {"PAGED_VERBOSE", "dispatch"}})
                                    .value();
  EXPECT_EQ(options.variant, Variant::kSplitK);
  EXPECT_EQ(options.variant_source, OptionSource::kEnvironment);
  EXPECT_EQ(options.splits, 7);
  EXPECT_EQ(options.splits_source, OptionSource::kEnvironment);
  EXPECT_EQ(options.reduction, Reduction::kSecondPass);
  EXPECT_EQ(options.reduction_source, OptionSource::kEnvironment);
  EXPECT_TRUE(options.print_dispatch);
}

TEST(OptionsTest, TheCodeBeatsTheEnvironmentFieldByField) {
  const DecodeOptions options =
      Resolve({.variant = Variant::kAuto},
              {{"PAGED_VARIANT", "v1"}, {"PAGED_SPLITS", "3"}})
          .value();
  EXPECT_EQ(options.variant, Variant::kAuto);
  EXPECT_EQ(options.variant_source, OptionSource::kCode);
  EXPECT_EQ(options.splits, 3);
  EXPECT_EQ(options.splits_source, OptionSource::kEnvironment);
}

TEST(OptionsTest, AVariableThatTheCodeOverridesIsNotRead) {
  EXPECT_TRUE(
      Resolve({.variant = Variant::kV1}, {{"PAGED_VARIANT", "nonsense"}}).ok());
  EXPECT_TRUE(Resolve({.splits = 0}, {{"PAGED_SPLITS", "nonsense"}}).ok());
}

TEST(OptionsTest, AnEmptyVariableIsAnUnsetOne) {
  const DecodeOptions options = Resolve({}, {{"PAGED_VARIANT", ""},
                                             {"PAGED_SPLITS", ""},
                                             {"PAGED_REDUCTION", ""},
                                             {"PAGED_VERBOSE", ""}})
                                    .value();
  EXPECT_FALSE(options.variant.has_value());
  EXPECT_FALSE(options.print_dispatch);
}

TEST(OptionsTest, ResolvingTwiceKeepsWhoSaidSo) {
  const DecodeOptions once = Resolve({}, {{"PAGED_VARIANT", "v1"}}).value();
  const DecodeOptions twice = Resolve(once, {}).value();
  EXPECT_EQ(twice.variant, Variant::kV1);
  EXPECT_EQ(twice.variant_source, OptionSource::kEnvironment);
}

TEST(OptionsTest, UnknownWordsAreRefusedByVariable) {
  EXPECT_EQ(ErrorOf({}, {{"PAGED_VARIANT", "v2"}}),
            "PAGED_VARIANT must be auto, v1, split_k, thrust or reference; got "
            "v2");
  EXPECT_EQ(ErrorOf({}, {{"PAGED_REDUCTION", "tree"}}),
            "PAGED_REDUCTION must be auto, second_pass, cluster or last_cta; "
            "got tree");
  EXPECT_EQ(ErrorOf({}, {{"PAGED_REDUCTION", "none"}}),
            "PAGED_REDUCTION must be auto, second_pass, cluster or last_cta; "
            "got none");
  EXPECT_EQ(ErrorOf({}, {{"PAGED_VERBOSE", "1"}}),
            "PAGED_VERBOSE must be dispatch; got 1");
}

TEST(OptionsTest, SplitsThatAreNoCountAreRefused) {
  for (const char* text :
       {"-1", "1025", "four", "4x", "4.0", "99999999999999999999"}) {
    EXPECT_EQ(
        ErrorOf({}, {{"PAGED_SPLITS", text}}),
        std::string("PAGED_SPLITS must be 0 (automatic) to 1024; got ") + text);
  }
  EXPECT_EQ(ErrorOf({.splits = 1025}),
            "splits must be 0 (automatic) to 1024; got 1025");
  EXPECT_EQ(ErrorOf({.splits = -1}),
            "splits must be 0 (automatic) to 1024; got -1");
  EXPECT_TRUE(Resolve({.splits = 1024}, {}).ok());
}

TEST(OptionsTest, AConflictNamesWhoeverSetEachSide) {
  EXPECT_EQ(ErrorOf({.variant = Variant::kV1, .splits = 4}),
            "splits must be 0 or 1 with variant v1; got 4");
  EXPECT_EQ(ErrorOf({.variant = Variant::kV1}, {{"PAGED_SPLITS", "4"}}),
            "PAGED_SPLITS must be 0 or 1 with variant v1; got 4");
  EXPECT_EQ(ErrorOf({.splits = 2}, {{"PAGED_VARIANT", "thrust"}}),
            "splits must be 0 or 1 with PAGED_VARIANT=thrust; got 2");
  EXPECT_EQ(
      ErrorOf({}, {{"PAGED_VARIANT", "reference"}, {"PAGED_SPLITS", "2"}}),
      "PAGED_SPLITS must be 0 or 1 with PAGED_VARIANT=reference; got 2");
}

TEST(OptionsTest, OneSplitSuitsEveryVariant) {
  for (Variant variant : {Variant::kAuto, Variant::kV1, Variant::kSplitK,
                          Variant::kThrust, Variant::kReference}) {
    EXPECT_TRUE(Resolve({.variant = variant, .splits = 1}, {}).ok());
  }
}

TEST(OptionsTest, TheCodeMayNotAskForNoReduction) {
  EXPECT_EQ(
      ErrorOf({.reduction = Reduction::kNone}),
      "reduction must be auto, second_pass, cluster or last_cta; got none");
}

TEST(OptionsTest, NamesParseBack) {
  for (Variant variant : {Variant::kAuto, Variant::kV1, Variant::kSplitK,
                          Variant::kThrust, Variant::kReference}) {
    EXPECT_EQ(ParseVariant(NameOf(variant)).value(), variant);
  }
  for (Reduction reduction : {Reduction::kAuto, Reduction::kSecondPass,
                              Reduction::kCluster, Reduction::kLastCta}) {
    EXPECT_EQ(ParseReduction(NameOf(reduction)).value(), reduction);
  }
  for (HeadPacking packing : {HeadPacking::kOn, HeadPacking::kOff}) {
    EXPECT_EQ(ParseHeadPacking(NameOf(packing)).value(), packing);
  }
  EXPECT_EQ(ParseHeadPacking("yes").status().message(),
            "head_packing must be on or off; got yes");
}

TEST(OptionsTest, ReadsTheEnvironmentOfThisProcess) {
  ASSERT_EQ(setenv("PAGED_SPLITS", "12", 1), 0);
  const absl::StatusOr<DecodeOptions> options =
      ResolveOptions(DecodeOptions{.variant = Variant::kAuto});
  ASSERT_EQ(unsetenv("PAGED_SPLITS"), 0);
  EXPECT_EQ(options.value().splits, 12);
}

}  // namespace
}  // namespace paged
