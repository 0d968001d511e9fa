// How often something is timed, and what the samples say.
#ifndef PAGED_BENCHMARKS_SAMPLING_H_
#define PAGED_BENCHMARKS_SAMPLING_H_

#include <functional>
#include <limits>
#include <vector>

namespace paged::benchmarks {

inline constexpr int kLeastRuns = 5;
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct SampleCounts {
  int num_warmups = 10;
  int num_runs = 50;
  // Warm-ups, or runs, that take longer than this together end early, after at
  // least one warm-up and kLeastRuns runs.
  double max_seconds = 2;
  // Asked between rounds; true ends the measurement at once.
  std::function<bool()> should_stop = [] { return false; };
};

// Seconds that each call of each function says it took; in a round all of them
// take turns. Fewer than asked for where `counts` ends early.
std::vector<std::vector<double>> SampleInTurns(
    const SampleCounts& counts,
    const std::vector<std::function<double()>>& functions);

struct TimeSummary {
  int num_samples = 0;
  double mean = 0;
  double median = 0;
  // The smallest sample that at least 99 % of them do not exceed: the largest
  // of fewer than 100.
  double p99 = 0;
};

// In the unit of the samples; zeros without any.
TimeSummary Summarise(std::vector<double> samples);

// Of an even number, the upper of the two in the middle.
double MedianOf(std::vector<double> values);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_SAMPLING_H_
