#include "benchmarks/measurer.h"

#include <optional>
#include <utility>

#include "benchmarks/cuda/device_context.h"
#include "benchmarks/cuda/gpu_rows.h"
#include "benchmarks/cuda/host_rows.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/cuda/timing.h"
#include "benchmarks/sample_oracle.h"

namespace paged::benchmarks {
namespace {

constexpr int kRounds = 21;
constexpr int kCliffRounds = 7;
constexpr int kThrustRuns = 5;
constexpr int kScheduleCalls = 32;

// A variant of a shape with one cache, on its way to become a row.
struct Contender {
  Row row;
  PlannedDecode decode;
  std::optional<TimedGraph> graph;
};

class CudaMeasurer : public Measurer {
 public:
  CudaMeasurer(std::unique_ptr<Backend> backend, RowSet set)
      : gpu_rows_(set), backend_(std::move(backend)), stream_(MakeStream()) {}

  std::vector<BenchShape> Shapes() const override { return gpu_rows_.Shapes(); }
  std::vector<std::string> Variants(const BenchShape& shape) const override {
    return gpu_rows_.Variants(shape);
  }
  std::vector<Cache> Caches(const BenchShape& shape) const override {
    return gpu_rows_.Caches(shape);
  }

  std::vector<Row> Measure(const BenchShape& shape) override {
    CudaProblem problem(shape, *backend_, stream_.get());
    const std::vector<SampleRow> samples =
        ComputeSamples(shape, problem.tables());
    std::vector<Row> rows;
    for (Cache cache : Caches(shape)) {
      MeasureWith(cache, problem, samples, rows);
    }
    return rows;
  }

  std::vector<HostRow> HostRows() override {
    return gpu_rows_.is_of_cliffs() ? std::vector<HostRow>()
                                    : CudaHostRows(*backend_, stream_.get());
  }
  std::vector<std::pair<std::string, std::string>> Context() override {
    return DeviceContext(*backend_, stream_.get());
  }

 private:
  void MeasureWith(Cache cache, CudaProblem& problem,
                   absl::Span<const SampleRow> samples, std::vector<Row>& rows);
  std::optional<Contender> Enter(const std::string& variant, Cache cache,
                                 CudaProblem& problem,
                                 absl::Span<const SampleRow> samples,
                                 std::vector<Row>& rows);
  Row MeasureSchedule(Cache cache, CudaProblem& problem);
  Row MeasureThrust(Cache cache, CudaProblem& problem,
                    absl::Span<const SampleRow> samples, double gather_us);

  GpuRows gpu_rows_;
  std::unique_ptr<Backend> backend_;
  OwnedStream stream_;
};

// The gather first, then everybody in turns with it.
void CudaMeasurer::MeasureWith(Cache cache, CudaProblem& problem,
                               absl::Span<const SampleRow> samples,
                               std::vector<Row>& rows) {
  const BenchShape& shape = problem.shape();
  std::vector<Contender> contenders;
  absl::StatusOr<BestGather> best = absl::UnimplementedError("no gather");
  if (gpu_rows_.HasGather(shape)) {
    best = FindBestGather(problem, cache, stream_.get());
  }
  if (best.ok()) {
    absl::StatusOr<TimedGraph> graph =
        problem.CaptureGather(best->decode, cache);
    if (graph.ok()) {
      Row row = MakeRow("gather", shape, cache, best->decode.plan);
      row.workspace_bytes = 0;
      contenders.push_back(
          {std::move(row), std::move(best->decode), *std::move(graph)});
    }
  }
  const bool has_gather = !contenders.empty();
  if (!has_gather && gpu_rows_.HasGather(shape)) {
    rows.push_back(
        MakeFailedRow("gather", shape, cache, best.status().ToString()));
  }
  for (const std::string& variant : gpu_rows_.DecodeVariants(shape)) {
    std::optional<Contender> contender =
        Enter(variant, cache, problem, samples, rows);
    if (contender.has_value()) contenders.push_back(*std::move(contender));
  }

  double gather_us = 0;
  if (!contenders.empty()) {
    std::vector<TimedGraph*> graphs;
    for (Contender& contender : contenders) {
      graphs.push_back(&*contender.graph);
    }
    const std::vector<double> times_us =
        TimeInTurns(stream_.get(), graphs,
                    gpu_rows_.is_of_cliffs() ? kCliffRounds : kRounds);
    if (has_gather) gather_us = times_us.front();
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      SetTime(contenders[i].row, times_us[i], gather_us);
      rows.push_back(contenders[i].row);
    }
  }
  if (shape.is_ragged()) rows.push_back(MeasureSchedule(cache, problem));
  if (gpu_rows_.HasThrust(shape)) {
    rows.push_back(MeasureThrust(cache, problem, samples, gather_us));
  }
}

// Plans, checks and captures a variant. Without a result, its failed row has
// been added.
std::optional<Contender> CudaMeasurer::Enter(
    const std::string& variant, Cache cache, CudaProblem& problem,
    absl::Span<const SampleRow> samples, std::vector<Row>& rows) {
  const auto fail = [&](const absl::Status& status) {
    rows.push_back(
        MakeFailedRow(variant, problem.shape(), cache, status.ToString()));
    return std::nullopt;
  };
  absl::StatusOr<PlannedDecode> decode = problem.Plan(OptionsOf(variant));
  if (!decode.ok()) return fail(decode.status());
  const absl::StatusOr<double> error = problem.MeasureError(*decode, samples);
  if (!error.ok()) return fail(error.status());
  absl::StatusOr<TimedGraph> graph = problem.CaptureDecode(*decode, cache);
  if (!graph.ok()) return fail(graph.status());

  Row row = MakeRow(variant, problem.shape(), cache, decode->plan);
  row.max_abs_error = *error;
  row.error = RefusalOf(problem.shape(), *error);
  return Contender{std::move(row), *std::move(decode), *std::move(graph)};
}

// What a step pays once, whatever its number of layers.
Row CudaMeasurer::MeasureSchedule(Cache cache, CudaProblem& problem) {
  const BenchShape& shape = problem.shape();
  DecodeOptions options = AutomaticOptions();
  options.partition = Partition::kChunks;
  absl::StatusOr<PlannedDecode> decode = problem.Plan(options);
  if (!decode.ok()) {
    return MakeFailedRow("schedule", shape, cache, decode.status().ToString());
  }
  Row row = MakeRow("schedule", shape, cache, decode->plan);
  absl::StatusOr<TimedGraph> graph =
      TimedGraph::Capture(stream_.get(), kScheduleCalls,
                          [&](int) { return problem.BeginStep(*decode); });
  if (!graph.ok()) {
    row.error = graph.status().ToString();
    return row;
  }
  TimedGraph* const graphs[] = {&*graph};
  row.kv_bytes = 0;
  SetTime(row, TimeInTurns(stream_.get(), graphs, kRounds).front(), 0);
  return row;
}

// Call by call, as it cannot be captured.
Row CudaMeasurer::MeasureThrust(Cache cache, CudaProblem& problem,
                                absl::Span<const SampleRow> samples,
                                double gather_us) {
  const BenchShape& shape = problem.shape();
  absl::StatusOr<PlannedDecode> decode = problem.Plan(OptionsOf("thrust"));
  if (!decode.ok()) {
    return MakeFailedRow("thrust", shape, cache, decode.status().ToString());
  }
  Row row = MakeRow("thrust", shape, cache, decode->plan);
  const absl::StatusOr<double> error = problem.MeasureError(*decode, samples);
  if (!error.ok()) {
    row.error = error.status().ToString();
    return row;
  }
  row.max_abs_error = *error;
  row.error = RefusalOf(shape, *error);

  Stopwatch stopwatch;
  std::vector<double> times_us;
  for (int run = 0; run < kThrustRuns; ++run) {
    const int set = cache == Cache::kCold ? run % problem.tables().num_sets : 0;
    stopwatch.Begin(stream_.get());
    const absl::Status status = problem.EnqueueDecode(*decode, set);
    stopwatch.End(stream_.get());
    CheckCuda(cudaStreamSynchronize(stream_.get()), "thrust");
    if (!status.ok()) row.error = status.ToString();
    times_us.push_back(stopwatch.ElapsedUs());
  }
  SetTime(row, MedianOf(times_us), gather_us);
  return row;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Measurer>> MakeCudaMeasurer(RowSet set) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
  if (!backend.ok()) return backend.status();
  return std::make_unique<CudaMeasurer>(*std::move(backend), set);
}

}  // namespace paged::benchmarks
