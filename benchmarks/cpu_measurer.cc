// The CPU backend, measured by the wall clock.
#include <chrono>

#include "absl/strings/str_cat.h"
#include "benchmarks/cpu/problem.h"
#include "benchmarks/host_cost.h"
#include "benchmarks/measurer.h"
#include "benchmarks/record_file.h"
#include "benchmarks/sample_oracle.h"
#include "benchmarks/tiers.h"
#include "kernels/baseline/thrust_decode.h"
#include "paged/decode.h"

namespace paged::benchmarks {
namespace {

// Medians of this many runs, fewer when they take longer than this.
constexpr int kMaxRuns = 21;
constexpr int kMinRuns = 5;
constexpr double kMaxSeconds = 0.5;

class CpuMeasurer : public Measurer {
 public:
  CpuMeasurer() : backend_(MakeCpuBackend()) {}

  std::vector<BenchShape> Shapes() const override { return CpuShapes(); }

  std::vector<std::string> Variants(const BenchShape& shape) const override {
    std::vector<std::string> variants = {"v1", "split_k", "auto"};
    const auto is_small_for = [&](Variant variant) {
      return shape.kv_bytes() <= LargestBytesOf(variant, DeviceKind::kCpu);
    };
    if (is_small_for(Variant::kReference)) variants.push_back("reference");
    if (HasThrustOnHost() && is_small_for(Variant::kThrust)) {
      variants.push_back("thrust");
    }
    return variants;
  }

  std::vector<Row> Measure(const BenchShape& shape) override {
    CpuProblem problem(shape, BlockLayout::kTokenMajor, kHostRotateBytes);
    std::vector<Row> rows;
    for (const std::string& variant : Variants(shape)) {
      for (Cache cache : {Cache::kCold, Cache::kWarm}) {
        rows.push_back(MeasureRow(variant, cache, problem));
      }
    }
    return rows;
  }

  // Of a GPU's planner, which this machine can run without the GPU.
  std::vector<HostRow> HostRows() override { return PlanRows(H200Profile()); }

  std::vector<std::pair<std::string, std::string>> Context() override {
    return {{"backend", "cpu"},
            {"device", ProcessorModel()},
            {"backend_threads", absl::StrCat(backend_->profile().num_units)}};
  }

 private:
  Row MeasureRow(const std::string& variant, Cache cache, CpuProblem& problem) {
    const absl::StatusOr<DecodePlan> plan =
        PlanDecode(problem.decode_shape(), *backend_, OptionsOf(variant));
    if (!plan.ok()) {
      return MakeFailedRow(variant, problem.shape(), cache,
                           plan.status().ToString());
    }
    Row row = MakeRow(variant, problem.shape(), cache, *plan);
    const absl::StatusOr<double> time_us = TimeRuns(*plan, cache, problem);
    if (!time_us.ok()) {
      row.error = time_us.status().ToString();
      return row;
    }
    SetTime(row, *time_us, 0);
    row.max_abs_error = problem.LargestErrorOfSet0();
    row.error = RefusalOf(problem.shape(), row.max_abs_error);
    return row;
  }

  // The last run is of set 0, and its output is left to be checked.
  absl::StatusOr<double> TimeRuns(const DecodePlan& plan, Cache cache,
                                  CpuProblem& problem) {
    absl::StatusOr<Workspace> workspace =
        backend_->Reserve(plan.workspace_bytes);
    if (!workspace.ok()) return workspace.status();
    const RunContext context = {.workspace = *workspace};
    absl::Status status = backend_->Prepare(plan);
    if (status.ok()) status = backend_->InitWorkspace(plan, context);

    const int num_sets = cache == Cache::kCold ? problem.num_sets() : 1;
    std::vector<double> runs_us;
    double total_s = 0;
    for (int run = 0; status.ok() && run <= kMaxRuns; ++run) {
      if (run > kMinRuns && total_s > kMaxSeconds) break;
      const DecodeArgs args = problem.Args(run % num_sets);
      const auto begin = std::chrono::steady_clock::now();
      status = backend_->Run(plan, args, context);
      const std::chrono::duration<double> elapsed =
          std::chrono::steady_clock::now() - begin;
      // The first run loads code and touches the workspace.
      if (run == 0) continue;
      runs_us.push_back(elapsed.count() * 1e6);
      total_s += elapsed.count();
    }
    problem.PoisonOutput();
    if (status.ok()) status = backend_->Run(plan, problem.Args(0), context);
    if (!status.ok()) return status;
    return MedianOf(runs_us);
  }

  std::unique_ptr<Backend> backend_;
};

}  // namespace

std::unique_ptr<Measurer> MakeCpuMeasurer() {
  return std::make_unique<CpuMeasurer>();
}

}  // namespace paged::benchmarks
