// Measures decode on this machine: every variant of every shape beside the
// gather-only kernel, as rows of Google Benchmark. --help says how.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "benchmarks/bench_flags.h"
#include "benchmarks/cliffs.h"
#include "benchmarks/measurer.h"
#include "benchmarks/plain_names.h"
#include "benchmarks/record_file.h"

namespace paged::benchmarks {
namespace {

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "decode_benchmark: %s\n",
               std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 3;
}

constexpr char kGatherRows[] = "decode/gather/";

// Measures a shape when the first of its rows is asked for.
class RowCache {
 public:
  explicit RowCache(Measurer& measurer) : measurer_(measurer) {}

  Row Get(const BenchShape& shape, const std::string& name) {
    if (shape_name_ != ShapeName(shape)) {
      rows_ = measurer_.Measure(shape);
      shape_name_ = ShapeName(shape);
    }
    for (const Row& row : rows_) {
      if (row.name == name) {
        num_failed_ += !row.error.empty();
        if (!absl::StartsWith(name, kGatherRows)) {
          timed_.push_back({shape, row.time_us});
        }
        return row;
      }
    }
    ++num_failed_;
    Row missing;
    missing.error = "not measured";
    return missing;
  }

  Row Get(const HostRow& host_row) {
    Row row = host_row.measure();
    num_failed_ += !row.error.empty();
    return row;
  }

  int num_failed() const { return num_failed_; }
  // As the dispatch chose.
  const std::vector<TimedShape>& timed() const { return timed_; }

 private:
  Measurer& measurer_;
  std::string shape_name_;
  std::vector<Row> rows_;
  std::vector<TimedShape> timed_;
  int num_failed_ = 0;
};

void ReportRow(const Row& row, benchmark::State& state) {
  if (!row.error.empty()) state.SkipWithError(row.error.c_str());
  for (auto _ : state) state.SetIterationTime(row.time_us * 1e-6);
  state.counters["kv_bytes"] = row.kv_bytes;
  state.counters["gb_per_s"] = row.gb_per_s;
  state.counters["ratio_to_gather"] = row.ratio_to_gather;
  state.counters["splits"] = row.splits;
  state.counters["ctas"] = row.ctas;
  state.counters["ctas_per_sm"] = row.ctas_per_sm;
  state.counters["waves"] = row.waves;
  state.counters["workspace_bytes"] = row.workspace_bytes;
  state.counters["max_abs_error"] = row.max_abs_error;
  state.counters["time_us"] = row.time_us;
}

void RegisterRow(const std::string& name, std::function<Row()> measure) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [measure = std::move(measure)](benchmark::State& state) {
        ReportRow(measure(), state);
      })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void Register(Measurer& measurer, RowCache& rows) {
  for (const BenchShape& shape : measurer.Shapes()) {
    for (const std::string& variant : measurer.Variants(shape)) {
      for (Cache cache : measurer.Caches(shape)) {
        const std::string name = RowName(variant, shape, cache);
        RegisterRow(name,
                    [&rows, shape, name] { return rows.Get(shape, name); });
      }
    }
  }
  for (const HostRow& row : measurer.HostRows()) {
    RegisterRow(row.name, [&rows, row] { return rows.Get(row); });
  }
}

absl::StatusOr<std::unique_ptr<Measurer>> MakeMeasurer(
    const std::string& backend, RowSet set) {
  if (set == RowSet::kCliffs && backend == "cpu") {
    return absl::InvalidArgumentError(
        "--mode=cliffs must be of a GPU; got --backend=cpu");
  }
  if (backend == "cpu") return MakeCpuMeasurer();
  if (backend == "cuda") return MakeCudaMeasurer(set);
  if (backend != "auto") {
    return absl::InvalidArgumentError(
        absl::StrCat("--backend must be auto, cpu or cuda; got ", backend));
  }
  absl::StatusOr<std::unique_ptr<Measurer>> cuda = MakeCudaMeasurer(set);
  const bool needs_cuda = set == RowSet::kCliffs;
  return cuda.ok() || needs_cuda ? std::move(cuda) : MakeCpuMeasurer();
}

// A file's reporter is allowed only together with --benchmark_out.
int MeasureRows(const BenchFlags& flags, const std::string& command_line,
                bool has_file, RowSet set) {
  absl::StatusOr<std::unique_ptr<Measurer>> made =
      MakeMeasurer(flags.backend, set);
  if (!made.ok()) return ExitCodeOf(made.status());
  Measurer& measurer = **made;
  RowCache rows(measurer);
  Register(measurer, rows);

  for (const auto& [key, value] : measurer.Context()) {
    benchmark::AddCustomContext(key, value);
  }
  const auto or_tree = [](const std::string& flag, const char* folder) {
    return flag.empty() ? TreeHash(folder) : flag;
  };
  benchmark::AddCustomContext(
      "commit", flags.commit.empty() ? CommitHash() : flags.commit);
  benchmark::AddCustomContext("kernels_core",
                              or_tree(flags.kernels_core, "kernels/core"));
  benchmark::AddCustomContext("kernels_cuda",
                              or_tree(flags.kernels_cuda, "kernels/cuda"));
  benchmark::AddCustomContext("driver", DriverVersion());
  benchmark::AddCustomContext("command", command_line);

  PlainNamesConsole console;
  PlainNamesJson json;
  const std::size_t num_run =
      benchmark::RunSpecifiedBenchmarks(&console, has_file ? &json : nullptr);
  if (num_run == 0) {
    return ExitCodeOf(
        absl::InvalidArgumentError("no row matches --benchmark_filter"));
  }
  if (set == RowSet::kCliffs) {
    std::fputs(DescribeCliffs(FindCliffs(rows.timed())).c_str(), stdout);
  }
  return rows.num_failed() == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  const std::string command_line = CommandLine(argc, argv);
  const bool has_file =
      std::any_of(argv, argv + argc, [](const char* argument) {
        return absl::StartsWith(argument, "--benchmark_out=");
      });
  BenchFlags flags;
  if (const std::optional<int> exit_code = ParseFlags(argc, argv, flags)) {
    return *exit_code;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (flags.mode == "rows" || flags.mode == "cliffs") {
    return MeasureRows(
        flags, command_line, has_file,
        flags.mode == "cliffs" ? RowSet::kCliffs : RowSet::kShapes);
  }
  if (flags.mode == "sweep") {
    return ExitCodeOf(RunCudaSweep(flags.sweep_out, flags.sweep_filter));
  }
  if (flags.mode == "merge") {
    return ExitCodeOf(MergeRecords(flags.merge_into, flags.merge_from));
  }
  return ExitCodeOf(absl::InvalidArgumentError(absl::StrCat(
      "--mode must be rows, cliffs, sweep or merge; got ", flags.mode)));
}

}  // namespace
}  // namespace paged::benchmarks

int main(int argc, char** argv) { return paged::benchmarks::Main(argc, argv); }
