// Tiers on the GPU: graphs in turns with the gather.
#include "benchmarks/tiers.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "benchmarks/cuda/problem.h"
#include "benchmarks/cuda/timing.h"
#include "benchmarks/sample_oracle.h"
#include "paged/cuda_backend.h"

namespace paged::benchmarks {
namespace {

int64_t FreeBytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  CheckCuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<int64_t>(free);
}

// A tier that can be timed. What the baseline needs cannot be captured.
struct Contender {
  TierResult result;
  PlannedDecode decode;
  std::optional<TimedGraph> graph;
};

class CudaTierMeasurer final : public TierMeasurer {
 public:
  explicit CudaTierMeasurer(std::unique_ptr<Backend> backend)
      : backend_(std::move(backend)), stream_(MakeStream()) {}

  Backend& backend() override { return *backend_; }

  absl::StatusOr<std::vector<TierResult>> Measure(
      const BenchShape& shape, const std::vector<Tier>& tiers,
      const SampleCounts& counts) override;

 private:
  Contender EnterGather(CudaProblem& problem);
  Contender Enter(const Tier& tier, CudaProblem& problem,
                  absl::Span<const SampleRow> samples);
  void TimeCallByCall(CudaProblem& problem, const SampleCounts& counts,
                      Contender& contender);

  std::unique_ptr<Backend> backend_;
  OwnedStream stream_;
};

Contender CudaTierMeasurer::EnterGather(CudaProblem& problem) {
  Contender contender;
  contender.result.name = "gather";
  contender.result.is_ceiling = true;
  absl::StatusOr<BestGather> best =
      FindBestGather(problem, Cache::kCold, stream_.get());
  absl::StatusOr<TimedGraph> graph =
      best.ok() ? problem.CaptureGather(best->decode, Cache::kCold)
                : absl::StatusOr<TimedGraph>(best.status());
  if (!graph.ok()) {
    contender.result.error = std::string(graph.status().message());
    return contender;
  }
  contender.result.plan = best->decode.plan;
  contender.result.plan.workspace_bytes = 0;
  contender.graph = *std::move(graph);
  contender.decode = std::move(best->decode);
  return contender;
}

Contender CudaTierMeasurer::Enter(const Tier& tier, CudaProblem& problem,
                                  absl::Span<const SampleRow> samples) {
  Contender contender;
  TierResult& result = contender.result;
  result.name = tier.name;
  const auto fail = [&](const absl::Status& status) {
    result.error = std::string(status.message());
    return std::move(contender);
  };
  absl::StatusOr<PlannedDecode> decode = problem.Plan(tier.options);
  if (!decode.ok()) return fail(decode.status());
  result.plan = decode->plan;
  // The first run loads code, which stays.
  absl::StatusOr<double> error = problem.MeasureError(*decode, samples);
  const int64_t free_before = FreeBytes();
  if (error.ok()) error = problem.MeasureError(*decode, samples);
  if (!error.ok()) return fail(error.status());
  result.allocated_bytes = free_before - FreeBytes();
  result.max_abs_error = *error;
  result.error = RefusalOf(problem.shape(), *error);
  if (result.plan.variant != Variant::kThrust) {
    absl::StatusOr<TimedGraph> graph =
        problem.CaptureDecode(*decode, Cache::kCold);
    if (!graph.ok()) return fail(graph.status());
    contender.graph = *std::move(graph);
  }
  contender.decode = *std::move(decode);
  return contender;
}

void CudaTierMeasurer::TimeCallByCall(CudaProblem& problem,
                                      const SampleCounts& counts,
                                      Contender& contender) {
  TierResult& result = contender.result;
  Stopwatch stopwatch;
  int set = 0;
  const auto call = [&] {
    stopwatch.Begin(stream_.get());
    const absl::Status status = problem.EnqueueDecode(
        contender.decode, set++ % problem.tables().num_sets);
    stopwatch.End(stream_.get());
    CheckCuda(cudaStreamSynchronize(stream_.get()), "decode");
    if (!status.ok()) result.error = std::string(status.message());
    return stopwatch.ElapsedUs() * 1e-6;
  };
  // Of one function; the samples outlive the loop over them.
  const std::vector<std::vector<double>> samples =
      SampleInTurns(counts, {call});
  for (double seconds : samples.front()) {
    result.times_us.push_back(seconds * 1e6);
  }
}

absl::StatusOr<std::vector<TierResult>> CudaTierMeasurer::Measure(
    const BenchShape& shape, const std::vector<Tier>& tiers,
    const SampleCounts& counts) {
  const absl::Status fits = CheckFits(shape, kDeviceRotateBytes, FreeBytes());
  if (!fits.ok()) return fits;
  CudaProblem problem(shape, *backend_, stream_.get());
  const std::vector<SampleRow> samples =
      ComputeSamples(shape, problem.tables());
  std::vector<Contender> contenders;
  contenders.push_back(EnterGather(problem));
  for (const Tier& tier : tiers) {
    if (counts.should_stop()) break;
    contenders.push_back(Enter(tier, problem, samples));
  }

  std::vector<TimedGraph*> graphs;
  std::vector<TierResult*> measured;
  for (Contender& contender : contenders) {
    if (!contender.graph.has_value()) continue;
    graphs.push_back(&*contender.graph);
    measured.push_back(&contender.result);
  }
  if (!graphs.empty()) {
    std::vector<std::vector<double>> times =
        SampleInTurns(stream_.get(), graphs, counts);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      measured[i]->times_us = std::move(times[i]);
      measured[i]->calls_per_sample = problem.NumCalls(Cache::kCold);
    }
  }
  std::vector<TierResult> results;
  for (Contender& contender : contenders) {
    if (contender.result.error.empty() && !contender.graph.has_value()) {
      TimeCallByCall(problem, counts, contender);
    }
    results.push_back(std::move(contender.result));
  }
  if (counts.should_stop()) return absl::CancelledError("interrupted");
  return results;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TierMeasurer>> MakeCudaTierMeasurer() {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
  if (!backend.ok()) return backend.status();
  return std::make_unique<CudaTierMeasurer>(*std::move(backend));
}

}  // namespace paged::benchmarks
