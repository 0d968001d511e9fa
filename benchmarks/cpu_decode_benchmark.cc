// Decode on the CPU as a share of what its memory and its arithmetic allow:
//
//   cpu_decode_benchmark [flags of Google Benchmark]
//
// read/... are ceilings: sequential, and random pieces, on small and on huge
// pages. A row decode/... times the automatic choice in turns with reading the
// blocks of the same table (cold rows), and knows its bound: the slower of that
// reading and of the arithmetic of its group, dtype and head_dim, measured in
// cache. ratio_to_read and ratio_to_bound are times of those over its own.
// Times are medians of rounds; least_time_us and the arithmetic are the fastest
// round.
//
// Exit code: 0 good, 1 a row failed, 2 bad usage.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/cpu/decode_row.h"
#include "benchmarks/cpu/host_memory.h"
#include "benchmarks/cpu/read_ceiling.h"
#include "benchmarks/plain_names.h"
#include "benchmarks/record_file.h"
#include "kernels/cpu/simd_kernels.h"
#include "paged/device_profile.h"

namespace paged::benchmarks {
namespace {

// Far beyond the last-level cache of the processors at hand (32 MB).
constexpr int64_t kReadBytes = int64_t{256} << 20;
constexpr int kReadRounds = 9;
constexpr int64_t kSequential = 0;

void ReportRead(Pages pages, int64_t piece_bytes, int num_threads,
                benchmark::State& state) {
  static std::map<Pages, std::unique_ptr<HostMemory>> pools;
  std::unique_ptr<HostMemory>& pool = pools[pages];
  if (pool == nullptr) {
    pool = std::make_unique<HostMemory>(kReadBytes, pages);
    std::fill_n(pool->data(), pool->bytes(), std::byte{1});
  }
  const int64_t bytes = piece_bytes == kSequential ? 32768 : piece_bytes;
  const std::vector<int32_t> pieces = piece_bytes == kSequential
                                          ? InOrder(kReadBytes / bytes)
                                          : Shuffled(kReadBytes / bytes);
  ThreadPool threads(num_threads);
  const std::byte* const data = pool->data();
  const double seconds = TimeInTurns(
      kReadRounds, {[&] { ReadPieces(threads, {data}, pieces, bytes); }})[0];
  for (auto _ : state) state.SetIterationTime(seconds);
  state.counters["gb_per_s"] = kReadBytes / seconds * 1e-9;
  state.counters["time_us"] = seconds * 1e6;
  state.counters["num_threads"] = num_threads;
}

bool any_row_failed = false;

void ReportDecode(const CpuDecodeCase& c, benchmark::State& state) {
  const CpuDecodeRow row = MeasureDecode(c);
  if (!row.error.empty()) {
    any_row_failed = true;
    state.SkipWithError(row.error.c_str());
  }
  for (auto _ : state) state.SetIterationTime(row.time_us * 1e-6);
  state.counters["kv_bytes"] = row.kv_bytes;
  state.counters["gb_per_s"] = row.kv_bytes / row.time_us * 1e-3;
  state.counters["read_gb_per_s"] = row.read_gb_per_s;
  state.counters["arithmetic_gb_per_s"] = row.arithmetic_gb_per_s;
  state.counters["ratio_to_read"] = row.ratio_to_read;
  state.counters["ratio_to_bound"] = row.ratio_to_bound;
  state.counters["splits"] = row.splits;
  state.counters["num_threads"] = c.num_threads;
  state.counters["max_abs_error"] = row.max_abs_error;
  state.counters["relative_error"] = row.relative_error;
  state.counters["relative_error_fp32"] = row.relative_error_fp32;
  state.counters["time_us"] = row.time_us;
  state.counters["least_time_us"] = row.least_time_us;
}

template <typename Report>
void Register(const std::string& name, const Report& report) {
  benchmark::RegisterBenchmark(name.c_str(), report)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void RegisterReads(int num_threads) {
  for (Pages pages : {Pages::kHuge, Pages::kSmall}) {
    for (int64_t bytes : {kSequential, int64_t{4096}, int64_t{32768}}) {
      const std::string kind = bytes == kSequential
                                   ? "sequential"
                                   : absl::StrCat("random/bytes:", bytes);
      Register(absl::StrCat("read/", kind,
                            "/pages:", pages == Pages::kHuge ? "huge" : "small",
                            "/threads:", num_threads),
               [=](benchmark::State& state) {
                 ReportRead(pages, bytes, num_threads, state);
               });
    }
  }
}

int Main(int argc, char** argv) {
  // A reporter for a file is allowed only where there is one.
  const bool has_file = std::any_of(argv, argv + argc, [](const char* flag) {
    return absl::StartsWith(flag, "--benchmark_out=");
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const int max_threads = CpuProfile().num_units;
  std::vector<int> thread_counts = {1};
  for (int n = 2; n < max_threads; n *= 2) thread_counts.push_back(n);
  if (max_threads > 1) thread_counts.push_back(max_threads);
  for (int num_threads : thread_counts) {
    RegisterReads(num_threads);
    for (const CpuDecodeCase& c : CpuDecodeCases(num_threads)) {
      Register(NameOf(c),
               [c](benchmark::State& state) { ReportDecode(c, state); });
    }
  }

  double load[1] = {0};
  getloadavg(load, 1);
  const SimdKernels* simd = FindSimdKernels();
  benchmark::AddCustomContext("device", ProcessorModel());
  benchmark::AddCustomContext("commit", CommitHash());
  benchmark::AddCustomContext("kernels_core", TreeHash("kernels/core"));
  benchmark::AddCustomContext("kernels_cpu", TreeHash("kernels/cpu"));
  benchmark::AddCustomContext("instruction_set",
                              simd == nullptr ? "scalar" : simd->target);
  benchmark::AddCustomContext("load_average", absl::StrCat(load[0]));
  PlainNamesConsole console;
  PlainNamesJson json;
  if (benchmark::RunSpecifiedBenchmarks(&console, has_file ? &json : nullptr) ==
      0) {
    return 2;
  }
  return any_row_failed ? 1 : 0;
}

}  // namespace
}  // namespace paged::benchmarks

int main(int argc, char** argv) { return paged::benchmarks::Main(argc, argv); }
