// Tiers on the CPU, by the wall clock.
#include "benchmarks/tiers.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "benchmarks/cpu/problem.h"
#include "benchmarks/cpu/read_ceiling.h"
#include "benchmarks/peak_memory.h"
#include "benchmarks/sample_oracle.h"
#include "paged/decode.h"

namespace paged::benchmarks {
namespace {

// How far ahead the reading fetches, in bytes of a pool, at its fastest: what
// the ceiling is measured with.
int64_t BestFetchAhead(const CpuProblem& problem, ThreadPool& readers) {
  constexpr int kRounds = 5;
  const std::vector<int64_t> choices = {0, 16 << 10, 64 << 10};
  std::vector<std::function<void()>> functions;
  int set = 0;
  for (int64_t ahead : choices) {
    functions.push_back([&problem, &readers, &set, ahead] {
      problem.Read(readers, set++ % problem.num_sets(), ahead);
    });
  }
  const std::vector<double> seconds = TimeInTurns(kRounds, functions);
  return choices[static_cast<std::size_t>(
      std::min_element(seconds.begin(), seconds.end()) - seconds.begin())];
}

class CpuTierMeasurer final : public TierMeasurer {
 public:
  explicit CpuTierMeasurer(int num_threads)
      : backend_(MakeCpuBackend({.num_threads = num_threads})),
        readers_(backend_->profile().num_units) {}

  Backend& backend() override { return *backend_; }

  absl::StatusOr<std::vector<TierResult>> Measure(
      const BenchShape& shape, const std::vector<Tier>& tiers,
      const SampleCounts& counts) override;

 private:
  // Plans are made, and one workspace for all of them.
  RunContext PlanTiers(const CpuProblem& problem,
                       const std::vector<Tier>& tiers,
                       std::vector<TierResult>& results);
  // Runs a planned tier into poisoned outputs. Its error is set if it fails.
  void Check(const RunContext& context, CpuProblem& problem,
             TierResult& result);

  std::unique_ptr<Backend> backend_;
  ThreadPool readers_;
};

RunContext CpuTierMeasurer::PlanTiers(const CpuProblem& problem,
                                      const std::vector<Tier>& tiers,
                                      std::vector<TierResult>& results) {
  std::size_t workspace_bytes = 0;
  for (const Tier& tier : tiers) {
    TierResult result;
    result.name = tier.name;
    const absl::StatusOr<DecodePlan> plan =
        PlanDecode(problem.decode_shape(), *backend_, tier.options);
    if (plan.ok()) {
      result.plan = *plan;
      workspace_bytes = std::max(workspace_bytes, plan->workspace_bytes);
    } else {
      result.error = std::string(plan.status().message());
    }
    results.push_back(std::move(result));
  }
  const absl::StatusOr<Workspace> workspace =
      backend_->Reserve(workspace_bytes);
  return {.workspace = workspace.ok() ? *workspace : Workspace{}};
}

void CpuTierMeasurer::Check(const RunContext& context, CpuProblem& problem,
                            TierResult& result) {
  if (!result.error.empty()) return;
  absl::Status status = backend_->Prepare(result.plan);
  if (status.ok()) status = backend_->InitWorkspace(result.plan, context);
  const auto run = [&] {
    status.Update(backend_->Run(result.plan, problem.Args(0), context));
  };
  // The first runs make what threads keep, and a thread may come late.
  if (status.ok()) run();
  problem.PoisonOutput();
  if (status.ok()) result.allocated_bytes = PeakBytesOf(run);
  for (int i = 0; i < 2 && status.ok() && result.allocated_bytes > 0; ++i) {
    result.allocated_bytes = std::min(result.allocated_bytes, PeakBytesOf(run));
  }
  if (!status.ok()) {
    result.error = std::string(status.message());
    return;
  }
  result.max_abs_error = problem.LargestErrorOfSet0();
  result.error = RefusalOf(problem.shape(), result.max_abs_error);
}

absl::StatusOr<std::vector<TierResult>> CpuTierMeasurer::Measure(
    const BenchShape& shape, const std::vector<Tier>& tiers,
    const SampleCounts& counts) {
  const absl::Status fits =
      CheckFits(shape, kHostRotateBytes, AvailableHostBytes());
  if (!fits.ok()) return fits;
  CpuProblem problem(shape, BlockLayout::kTokenMajor, kHostRotateBytes);
  std::vector<TierResult> results(1);
  results.front().name = "read";
  results.front().is_ceiling = true;
  const RunContext context = PlanTiers(problem, tiers, results);

  absl::Status status;
  const int num_sets = problem.num_sets();
  const int64_t fetch_ahead = BestFetchAhead(problem, readers_);
  std::vector<std::function<double()>> functions;
  std::vector<TierResult*> measured;
  for (TierResult& result : results) {
    if (counts.should_stop()) break;
    if (!result.is_ceiling) Check(context, problem, result);
    if (!result.error.empty()) continue;
    measured.push_back(&result);
    // Everybody at another set, so that none finds the blocks of the one before
    // it in a cache.
    functions.push_back(TimedByClock(
        [&, set = static_cast<int>(measured.size()) * num_sets / 7]() mutable {
          const int this_set = set++ % num_sets;
          if (result.is_ceiling) {
            problem.Read(readers_, this_set, fetch_ahead);
          } else {
            status.Update(
                backend_->Run(result.plan, problem.Args(this_set), context));
          }
        }));
  }
  const std::vector<std::vector<double>> seconds =
      SampleInTurns(counts, functions);
  if (counts.should_stop()) return absl::CancelledError("interrupted");
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    for (double s : seconds[i]) measured[i]->times_us.push_back(s * 1e6);
  }
  return results;
}

}  // namespace

std::unique_ptr<TierMeasurer> MakeCpuTierMeasurer(int num_threads) {
  return std::make_unique<CpuTierMeasurer>(num_threads);
}

}  // namespace paged::benchmarks
