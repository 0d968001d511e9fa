#include "benchmarks/sampling.h"

#include <numeric>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paged::benchmarks {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(SamplingTest, SummaryOfOneToHundred) {
  std::vector<double> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1.0);
  const TimeSummary summary = Summarise(samples);
  EXPECT_EQ(summary.num_samples, 100);
  EXPECT_DOUBLE_EQ(summary.mean, 50.5);
  EXPECT_DOUBLE_EQ(summary.median, 51);
  EXPECT_DOUBLE_EQ(summary.p99, 99);
}

TEST(SamplingTest, P99OfFewIsTheLargest) {
  EXPECT_DOUBLE_EQ(Summarise({3, 9, 1}).p99, 9);
  EXPECT_EQ(Summarise({}).num_samples, 0);
}

TEST(SamplingTest, FunctionsTakeTurnsAndWarmupsDoNotCount) {
  std::string calls;
  const auto samples = SampleInTurns(
      {.num_warmups = 1, .num_runs = 2},
      {[&] { return calls += 'a', 1.0; }, [&] { return calls += 'b', 2.0; }});
  EXPECT_EQ(calls, "ababab");
  EXPECT_THAT(samples,
              ElementsAre(ElementsAre(1.0, 1.0), ElementsAre(2.0, 2.0)));
}

TEST(SamplingTest, WhoIsSlowEndsEarlyAndTheOthersGoOn) {
  const auto samples = SampleInTurns(
      {.num_warmups = 4, .num_runs = 20, .max_seconds = 2.5},
      {[] { return 0.001; }, [] { return 1.0; }, [] { return 0.1; }});
  EXPECT_THAT(samples, ElementsAre(SizeIs(20), SizeIs(kLeastRuns), SizeIs(20)));
  EXPECT_THAT(samples[1], Each(1.0));
}

TEST(SamplingTest, StopsAtOnce) {
  int num_calls = 0;
  const auto samples =
      SampleInTurns({.num_warmups = 0,
                     .num_runs = 100,
                     .should_stop = [&] { return num_calls == 3; }},
                    {[&] { return ++num_calls, 1.0; }});
  EXPECT_THAT(samples.front(), SizeIs(3));
}

}  // namespace
}  // namespace paged::benchmarks
