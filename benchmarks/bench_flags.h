// The flags of decode_benchmark, beside those of Google Benchmark.
#ifndef PAGED_BENCHMARKS_BENCH_FLAGS_H_
#define PAGED_BENCHMARKS_BENCH_FLAGS_H_

#include <optional>
#include <string>

namespace paged::benchmarks {

struct BenchFlags {
  std::string mode = "rows";
  std::string backend = "auto";
  std::string commit, kernels_core, kernels_cuda;
  std::string sweep_filter;
  std::string sweep_out = "sweep.csv";
  std::string merge_into, merge_from;
};

// Takes our flags out of argv and leaves Google Benchmark's. Returns an exit
// code when there is nothing to do.
std::optional<int> ParseFlags(int& argc, char** argv, BenchFlags& flags);

// What was asked for, without the paths of one machine.
std::string CommandLine(int argc, char** argv);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_BENCH_FLAGS_H_
