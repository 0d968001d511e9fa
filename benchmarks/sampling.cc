#include "benchmarks/sampling.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace paged::benchmarks {

std::vector<std::vector<double>> SampleInTurns(
    const SampleCounts& counts,
    const std::vector<std::function<double()>>& functions) {
  std::vector<std::vector<double>> samples(functions.size());
  const auto run_rounds = [&](int num_rounds, int num_least, bool is_counted) {
    std::vector<double> spent(functions.size());
    for (int round = 0; round < num_rounds; ++round) {
      for (std::size_t i = 0; i < functions.size(); ++i) {
        if (round >= num_least && spent[i] > counts.max_seconds) continue;
        if (counts.should_stop()) return;
        const double seconds = functions[i]();
        spent[i] += seconds;
        if (is_counted) samples[i].push_back(seconds);
      }
    }
  };
  run_rounds(counts.num_warmups, 1, false);
  run_rounds(counts.num_runs, kLeastRuns, true);
  return samples;
}

TimeSummary Summarise(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t count = samples.size();
  const std::size_t rank = (count * 99 + 99) / 100;  // from 1
  TimeSummary summary;
  summary.num_samples = static_cast<int>(count);
  summary.mean = std::accumulate(samples.begin(), samples.end(), 0.0) /
                 static_cast<double>(count);
  summary.p99 = samples[rank - 1];
  summary.median = MedianOf(std::move(samples));
  return summary;
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace paged::benchmarks
