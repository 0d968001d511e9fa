#include "benchmarks/measurer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "benchmarks/cuda/device_context.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/cuda/timing.h"
#include "benchmarks/host_cost.h"
#include "benchmarks/sample_oracle.h"
#include "benchmarks/tiers.h"
#include "kernels/cuda/launch.h"

namespace paged::benchmarks {
namespace {

constexpr int kRounds = 21;
constexpr int kCliffRounds = 7;
const int64_t kMaxThrustBytes =
    LargestBytesOf(Variant::kThrust, DeviceKind::kCuda);
constexpr int kThrustRuns = 5;
constexpr int kScheduleCalls = 32;
constexpr char kLaunchRow[] = "host/launch/nothing_to_fill";

// A variant of a shape with one cache, on its way to become a row.
struct Contender {
  Row row;
  PlannedDecode decode;
  std::optional<TimedGraph> graph;
};

// CUDA cores, which serve these, have no rings to gather through.
bool GatherServes(const BenchShape& shape) {
  return shape.dtype != DType::kF32;
}

bool IsMeasuredInvariant(const BenchShape& shape) {
  const std::vector<BenchShape> shapes = InvariantShapes();
  return std::any_of(shapes.begin(), shapes.end(), [&](const BenchShape& s) {
    return ShapeName(s) == ShapeName(shape);
  });
}

// Where it is quick enough, and has the features.
bool ThrustServes(const BenchShape& shape) {
  const BenchRules& rules = shape.rules;
  return shape.model.empty() && shape.kv_bytes() <= kMaxThrustBytes &&
         SizeOf(shape.dtype) > 1 && rules.q_len == 1 && rules.window == 0 &&
         rules.attention_chunk == 0 && rules.soft_cap == 0 &&
         !rules.has_alibi && !rules.has_sink_logits;
}

class CudaMeasurer : public Measurer {
 public:
  CudaMeasurer(std::unique_ptr<Backend> backend, RowSet set)
      : set_(set), backend_(std::move(backend)), stream_(MakeStream()) {}

  std::vector<BenchShape> Shapes() const override {
    return set_ == RowSet::kCliffs ? CliffShapes() : GpuShapes();
  }

  std::vector<std::string> Variants(const BenchShape& shape) const override {
    std::vector<std::string> variants;
    if (HasGather(shape)) variants.push_back("gather");
    for (std::string& variant : DecodeVariants(shape)) {
      variants.push_back(std::move(variant));
    }
    if (shape.is_ragged()) variants.push_back("schedule");
    if (HasThrust(shape)) variants.push_back("thrust");
    return variants;
  }

  std::vector<Cache> Caches(const BenchShape& shape) const override {
    return set_ == RowSet::kCliffs ? std::vector<Cache>{Cache::kCold}
                                   : CachesOf(shape);
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

  std::vector<HostRow> HostRows() override;
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
  Row MeasureRun(const BenchShape& shape);
  Row MeasureLowering(const BenchShape& shape);
  Row MeasureLaunch();

  // A cliff is a matter of the dispatch's choices alone.
  std::vector<std::string> DecodeVariants(const BenchShape& shape) const {
    if (set_ == RowSet::kCliffs || !shape.model.empty()) return {"auto"};
    std::vector<std::string> variants = {"v1", "split_k", "auto"};
    if (IsMeasuredInvariant(shape)) variants.push_back("auto_invariant");
    return variants;
  }
  bool HasGather(const BenchShape& shape) const {
    return set_ == RowSet::kCliffs ? VariesBlocks(shape) : GatherServes(shape);
  }
  bool HasThrust(const BenchShape& shape) const {
    return set_ != RowSet::kCliffs && ThrustServes(shape);
  }
  int num_rounds() const {
    return set_ == RowSet::kCliffs ? kCliffRounds : kRounds;
  }

  RowSet set_;
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
  if (HasGather(shape)) best = FindBestGather(problem, cache, stream_.get());
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
  if (!has_gather && HasGather(shape)) {
    rows.push_back(
        MakeFailedRow("gather", shape, cache, best.status().ToString()));
  }
  for (const std::string& variant : DecodeVariants(shape)) {
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
        TimeInTurns(stream_.get(), graphs, num_rounds());
    if (has_gather) gather_us = times_us.front();
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      SetTime(contenders[i].row, times_us[i], gather_us);
      rows.push_back(contenders[i].row);
    }
  }
  if (shape.is_ragged()) rows.push_back(MeasureSchedule(cache, problem));
  if (HasThrust(shape)) {
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

// Enqueueing alone: the stream is waited for between groups of runs.
Row CudaMeasurer::MeasureRun(const BenchShape& shape) {
  const std::string name = HostRowName("run", shape);
  CudaProblem problem(shape, *backend_, stream_.get());
  absl::StatusOr<PlannedDecode> decode = problem.Plan(AutomaticOptions());
  absl::Status status = decode.status();
  if (status.ok()) status = problem.BeginStep(*decode);
  if (!status.ok()) {
    Row row;
    row.name = name;
    row.error = status.ToString();
    return row;
  }
  return TimeOnHost(
      name, [&] { return problem.EnqueueDecode(*decode, 0); },
      [&] { CheckCuda(cudaStreamSynchronize(stream_.get()), "runs"); });
}

// The part of a run that is ours: arguments checked and made a kernel's.
Row CudaMeasurer::MeasureLowering(const BenchShape& shape) {
  const std::string name = HostRowName("lower", shape);
  CudaProblem problem(shape, *backend_, stream_.get());
  const absl::StatusOr<PlannedDecode> decode = problem.Plan(AutomaticOptions());
  return TimeOnHost(
      name,
      [&] {
        return decode.ok() ? problem.LowerDecode(*decode, 0).status()
                           : decode.status();
      },
      [] {});
}

// The part that is not: the runtime's launch call, of a kernel that finds
// nothing to do.
Row CudaMeasurer::MeasureLaunch() {
  return TimeOnHost(
      kLaunchRow,
      [&] {
        CheckCuda(LaunchFill(ElementKind::kF16, nullptr, 0, 0, stream_.get()),
                  "a launch");
        return absl::OkStatus();
      },
      [&] { CheckCuda(cudaStreamSynchronize(stream_.get()), "launches"); });
}

std::vector<HostRow> CudaMeasurer::HostRows() {
  if (set_ == RowSet::kCliffs) return {};
  std::vector<HostRow> rows = PlanRows(backend_->profile());
  for (const BenchShape& shape : HostShapes()) {
    rows.push_back({HostRowName("run", shape),
                    [this, shape] { return MeasureRun(shape); }});
    rows.push_back({HostRowName("lower", shape),
                    [this, shape] { return MeasureLowering(shape); }});
  }
  rows.push_back({kLaunchRow, [this] { return MeasureLaunch(); }});
  return rows;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Measurer>> MakeCudaMeasurer(RowSet set) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
  if (!backend.ok()) return backend.status();
  return std::make_unique<CudaMeasurer>(*std::move(backend), set);
}

}  // namespace paged::benchmarks
