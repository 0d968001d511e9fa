#include "benchmarks/tiers.h"

#include <memory>
#include <string>
#include <vector>

#include "benchmarks/measurer.h"
#include "benchmarks/peak_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paged::benchmarks {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

SampleCounts FewSamples() { return {.num_warmups = 1, .num_runs = 3}; }

TEST(TiersTest, MeasuresTheCeilingAndEveryTierOnTheCpu) {
  const auto measurer = MakeCpuTierMeasurer(2);
  const auto results =
      measurer->Measure(Uniform(2, 40, 2, 2),
                        {{"v1", OptionsOf("v1")},
                         {"split_k", OptionsOf("split_k")},
                         {"reference", OptionsOf("reference")}},
                        FewSamples());
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(4));
  EXPECT_EQ(results->front().name, "read");
  EXPECT_TRUE(results->front().is_ceiling);
  EXPECT_EQ((*results)[2].plan.variant, Variant::kSplitK);
  for (const TierResult& result : *results) {
    EXPECT_EQ(result.error, "") << result.name;
    EXPECT_THAT(result.times_us, SizeIs(3)) << result.name;
    EXPECT_THAT(result.times_us, Each(Gt(0.0))) << result.name;
    EXPECT_LT(result.max_abs_error, 1e-2) << result.name;
  }
}

TEST(TiersTest, WhatCannotBePlannedIsItsOwnErrorAlone) {
  const auto measurer = MakeCpuTierMeasurer(1);
  DecodeOptions impossible = OptionsOf("v1");
  impossible.splits = 7;
  const auto results = measurer->Measure(
      Uniform(1, 20, 1, 1), {{"v1", impossible}, {"auto", OptionsOf("auto")}},
      FewSamples());
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT((*results)[1].error, HasSubstr("splits"));
  EXPECT_EQ((*results)[2].error, "");
}

TEST(TiersTest, StopsWhenAsked) {
  const auto measurer = MakeCpuTierMeasurer(1);
  SampleCounts counts = FewSamples();
  counts.should_stop = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(
      measurer->Measure(Uniform(1, 20, 1, 1), {}, counts).status()));
}

TEST(TiersTest, RefusesWhatDoesNotFit) {
  // Two sets of 2 * 10 * 4 * 128 * 2 * 2 bytes.
  const BenchShape shape = Uniform(2, 10, 4, 2);
  EXPECT_TRUE(CheckFits(shape, 0, 100'000).ok());
  const absl::Status status = CheckFits(shape, 0, 80'000);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("b:2/ctx:10"));
}

TEST(TiersTest, PeakBytesCountsWhatWasLiveAtOnce) {
  const int64_t bytes = PeakBytesOf([] {
    for (int i = 0; i < 3; ++i) std::vector<char>(100'000)[0] = 1;
  });
  if (bytes < 0) GTEST_SKIP() << "a sanitizer keeps its own operator new";
  EXPECT_GE(bytes, 100'000);
  EXPECT_LT(bytes, 120'000);
}

TEST(CudaTiersTest, MeasuresTheGatherAndEveryTier) {
  auto measurer = MakeCudaTierMeasurer();
  if (!measurer.ok()) GTEST_SKIP() << measurer.status();
  const auto results = (*measurer)->Measure(
      Uniform(2, 300, 2, 2),
      {{"v1", OptionsOf("v1")}, {"thrust", OptionsOf("thrust")}}, FewSamples());
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_THAT(*results, SizeIs(3));
  EXPECT_EQ(results->front().name, "gather");
  for (const TierResult& result : *results) {
    EXPECT_EQ(result.error, "") << result.name;
    EXPECT_THAT(result.times_us, Each(Gt(0.0))) << result.name;
  }
}

}  // namespace
}  // namespace paged::benchmarks
