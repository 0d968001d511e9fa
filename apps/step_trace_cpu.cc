// A step on the CPU: every thread reports its programs.
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "apps/step_clock.h"
#include "apps/step_trace.h"
#include "benchmarks/cpu/problem.h"
#include "kernels/cpu/program_trace.h"
#include "paged/decode.h"
#include "paged/internal/lower.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr int kWarmups = 3;

// Collects slices while it lives; one at a time.
class Collector final : public ProgramObserver {
 public:
  Collector(const StepClock& clock, const DecodePlan& plan)
      : clock_(clock), plan_(plan) {
    threads_.emplace(std::this_thread::get_id(), 0);
    program_observer.store(this);
  }
  ~Collector() override { program_observer.store(nullptr); }

  void Observe(const ProgramSlice& slice) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [thread, is_new] = threads_.emplace(
        std::this_thread::get_id(), static_cast<int>(threads_.size()));
    const bool is_reduction = slice.kind == ProgramKind::kReduce;
    programs_.push_back(
        {.unit = thread->second,
         .is_reduction = is_reduction,
         .seq = slice.seq,
         .first_kv_head = slice.first_kv_head,
         .num_kv_heads = slice.num_kv_heads,
         .split = is_reduction || plan_.num_splits == 1
                      ? 0
                      : static_cast<int>(slice.partial % plan_.num_splits),
         .span = {clock_.At(slice.begin), clock_.At(slice.end)}});
  }

  std::vector<ProgramSpan> Take() {
    std::sort(programs_.begin(), programs_.end(),
              [](const ProgramSpan& a, const ProgramSpan& b) {
                return a.span.begin_us < b.span.begin_us;
              });
    return std::move(programs_);
  }

 private:
  const StepClock& clock_;
  const DecodePlan& plan_;
  std::mutex mutex_;
  std::map<std::thread::id, int> threads_;
  std::vector<ProgramSpan> programs_;
};

// The passes, each from its first program's start to its last one's end.
std::vector<NamedSpan> KernelsOf(const StepTrace& trace) {
  std::vector<NamedSpan> kernels;
  for (bool is_reduction : {false, true}) {
    StepTrace pass;
    for (const ProgramSpan& program : trace.programs) {
      if (program.is_reduction == is_reduction) {
        pass.programs.push_back(program);
      }
    }
    if (pass.programs.empty()) continue;
    kernels.push_back({is_reduction ? "reduce splits"
                                    : std::string(NameOf(trace.plan.variant)),
                       pass.device_span()});
  }
  return kernels;
}

absl::StatusOr<StepTrace> TraceTier(const StepClock& clock,
                                    const benchmarks::Tier& tier,
                                    benchmarks::CpuProblem& problem,
                                    Backend& backend) {
  StepTrace trace;
  trace.profile = backend.profile();
  PAGED_ASSIGN_OR_RETURN(
      trace.plan, PlanDecode(problem.decode_shape(), backend, tier.options));
  PAGED_RETURN_IF_ERROR(backend.Prepare(trace.plan));
  PAGED_ASSIGN_OR_RETURN(const Workspace workspace,
                         backend.Reserve(trace.plan.workspace_bytes));
  const RunContext context = {.workspace = workspace};
  PAGED_RETURN_IF_ERROR(backend.InitWorkspace(trace.plan, context));
  for (int i = 1; i <= kWarmups; ++i) {
    PAGED_RETURN_IF_ERROR(backend.Run(trace.plan, problem.Args(1), context));
  }

  const DecodeArgs args = problem.Args(0);
  auto& stages = trace.stages;
  PAGED_ASSIGN_OR_RETURN(
      const DecodeProblem valid,
      clock.Run("validate", stages, [&] { return Validate(args); }));
  PAGED_ASSIGN_OR_RETURN(const DecodePlan plan, clock.Run("plan", stages, [&] {
    return MakePlan(valid, trace.profile, tier.options);
  }));
  PAGED_RETURN_IF_ERROR(clock
                            .Run("lower", stages,
                                 [&] {
                                   return internal::Lower(
                                       plan, args, trace.profile, context);
                                 })
                            .status());
  Collector collector(clock, trace.plan);
  PAGED_RETURN_IF_ERROR(clock.Run(
      "launch", stages, [&] { return backend.Run(plan, args, context); }));
  trace.programs = collector.Take();
  trace.kernels = KernelsOf(trace);
  return trace;
}

}  // namespace

absl::StatusOr<std::vector<StepTrace>> TraceOnCpu(
    const ShapeRequest& shape, const std::vector<PointTier>& tiers,
    int num_threads) {
  PAGED_ASSIGN_OR_RETURN(const benchmarks::BenchShape bench_shape,
                         BenchShapeOf(shape));
  // Two sets: the traced one, and one to warm up with.
  constexpr int64_t kRotateBytes = 0;
  PAGED_RETURN_IF_ERROR(benchmarks::CheckFits(
      bench_shape, kRotateBytes, benchmarks::AvailableHostBytes()));
  const std::unique_ptr<Backend> backend =
      MakeCpuBackend({.num_threads = num_threads});
  benchmarks::CpuProblem problem(
      bench_shape, benchmarks::BlockLayout::kTokenMajor, kRotateBytes);
  const StepClock clock;
  std::vector<StepTrace> traces;
  for (const PointTier& tier : tiers) {
    PAGED_ASSIGN_OR_RETURN(StepTrace trace,
                           TraceTier(clock, TierOf(tier), problem, *backend));
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace paged
