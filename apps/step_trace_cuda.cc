// A step on the GPU: traced kernels where there are any, else the kernels'
// times alone.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/cuda_error.h"
#include "apps/step_clock.h"
#include "apps/step_trace.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/cuda/timing.h"
#include "kernels/cuda/traced_decode.h"
#include "paged/cuda_backend.h"
#include "paged/decode.h"
#include "paged/internal/lower.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr int kWarmups = 3;

// A plan with a traced kernel has its instance and merges in a second pass.
bool HasTracedKernel(const DecodePlan& plan) {
  return plan.instance.kv_dtype == DType::kF16 &&
         plan.instance.head_dim == kTracedHeadDim &&
         plan.instance.max_rows == kTracedRows && !plan.instance.is_general &&
         InstanceShape{plan.instance.warps, plan.instance.stages} ==
             kTracedShape &&
         (plan.reduction == Reduction::kNone ||
          plan.reduction == Reduction::kSecondPass);
}

// Forces what HasTracedKernel asks for.
DecodeOptions TracedOptions(const PointTier& tier, const ShapeRequest& shape) {
  DecodeOptions options = TierOf(tier).options;
  if (shape.dtype != DType::kF16 || shape.head_dim != kTracedHeadDim) {
    return options;
  }
  options.instance = InstanceChoice{.warps = kTracedShape.warps,
                                    .stages = kTracedShape.stages,
                                    .max_rows = kTracedRows};
  options.reduction = Reduction::kSecondPass;
  if (tier.variant == Variant::kV1) options.reduction = Reduction::kAuto;
  return options;
}

// The kernels of a step on one stream, with events between them.
class Step {
 public:
  Step(const internal::Launch& launch, cudaStream_t stream)
      : launch_(launch), stream_(stream) {}

  absl::Status Enqueue(CtaRecord* records) {
    const bool is_split = launch_.reduction == Reduction::kSecondPass;
    attend_.Begin(stream_);
    PAGED_RETURN_IF_ERROR(FromCuda(
        LaunchTraced(is_split ? KernelEnding::kPartial : KernelEnding::kOutput,
                     launch_.params, records, stream_),
        "traced kernel"));
    attend_.End(stream_);
    reduce_.Begin(stream_);
    if (is_split) {
      PAGED_RETURN_IF_ERROR(FromCuda(
          LaunchReduceSplits(launch_.params, stream_), "reduction kernel"));
    }
    reduce_.End(stream_);
    return absl::OkStatus();
  }

  double reduce_us() const { return reduce_.ElapsedUs(); }

 private:
  const internal::Launch& launch_;
  cudaStream_t stream_;
  benchmarks::Stopwatch attend_, reduce_;
};

// The first CTA begins at `begin_us`: the GPU's clock is not the host's.
void TakeRecords(const std::vector<CtaRecord>& records,
                 const DecodeParams& params, double begin_us,
                 StepTrace& trace) {
  uint64_t first_ns = UINT64_MAX;
  for (const CtaRecord& record : records) {
    first_ns = std::min(first_ns, record.begin_ns);
  }
  const auto at = [&](uint64_t ns) {
    return begin_us + static_cast<double>(ns - first_ns) * 1e-3;
  };
  const int64_t per_split =
      static_cast<int64_t>(records.size()) / params.num_splits;
  for (int64_t i = 0; i < static_cast<int64_t>(records.size()); ++i) {
    const CtaRecord& record = records[static_cast<std::size_t>(i)];
    const int unit = static_cast<int>(record.sm);
    trace.profile.num_units = std::max(trace.profile.num_units, unit + 1);
    const int64_t item = i % per_split / params.num_kv_heads;
    trace.programs.push_back(
        {.unit = unit,
         .seq = static_cast<int>(item / params.num_row_tiles),
         .first_kv_head = static_cast<int>(i % params.num_kv_heads),
         .split = static_cast<int>(i / per_split),
         .span = {at(record.begin_ns), at(record.end_ns)}});
  }
}

class CudaTracer {
 public:
  CudaTracer(const benchmarks::BenchShape& shape, Backend& backend)
      : backend_(backend),
        stream_(benchmarks::MakeStream()),
        problem_(shape, backend, stream_.get()) {}

  absl::StatusOr<StepTrace> Trace(const DecodeOptions& options) {
    StepTrace trace;
    trace.profile = backend_.profile();
    PAGED_ASSIGN_OR_RETURN(const benchmarks::PlannedDecode decode,
                           problem_.Plan(options));
    trace.plan = decode.plan;
    for (int i = 1; i <= kWarmups; ++i) {
      PAGED_RETURN_IF_ERROR(problem_.EnqueueDecode(decode, 1));
    }
    PAGED_RETURN_IF_ERROR(backend_.Synchronize(stream_.get()));

    const DecodeArgs args = problem_.Args(0);
    const RunContext context = {
        .stream = stream_.get(),
        .workspace = {.data = decode.workspace.get(),
                      .bytes = decode.plan.workspace_bytes}};
    PAGED_ASSIGN_OR_RETURN(
        const DecodeProblem valid,
        clock_.Run("validate", trace.stages, [&] { return Validate(args); }));
    PAGED_RETURN_IF_ERROR(
        clock_
            .Run("plan", trace.stages,
                 [&] { return MakePlan(valid, trace.profile, options); })
            .status());
    PAGED_ASSIGN_OR_RETURN(
        const internal::Launch launch, clock_.Run("lower", trace.stages, [&] {
          return internal::Lower(decode.plan, args, trace.profile, context);
        }));
    if (HasTracedKernel(decode.plan)) {
      PAGED_RETURN_IF_ERROR(RunTraced(launch, trace));
    } else {
      PAGED_RETURN_IF_ERROR(RunWhole(decode.plan, args, context, trace));
    }
    return trace;
  }

 private:
  absl::Status RunTraced(const internal::Launch& launch, StepTrace& trace) {
    std::vector<CtaRecord> records(
        static_cast<std::size_t>(NumTracedCtas(launch.params)));
    const std::size_t bytes = records.size() * sizeof(CtaRecord);
    const benchmarks::DeviceBytes device = benchmarks::AllocateBytes(bytes);
    auto* const on_device = static_cast<CtaRecord*>(device.get());
    // Once before it counts: this kernel's code has to be loaded as well.
    PAGED_RETURN_IF_ERROR(Step(launch, stream_.get()).Enqueue(on_device));
    PAGED_RETURN_IF_ERROR(backend_.Synchronize(stream_.get()));
    Step step(launch, stream_.get());
    PAGED_RETURN_IF_ERROR(clock_.Run("launch", trace.stages,
                                     [&] { return step.Enqueue(on_device); }));
    const double launched_us = clock_.Now();
    PAGED_RETURN_IF_ERROR(clock_.Run("synchronize", trace.stages, [&] {
      return backend_.Synchronize(stream_.get());
    }));
    PAGED_RETURN_IF_ERROR(FromCuda(
        cudaMemcpy(records.data(), on_device, bytes, cudaMemcpyDeviceToHost),
        "reading the records"));
    TakeRecords(records, launch.params, launched_us, trace);
    const TimeSpan attend = trace.device_span();
    trace.kernels.push_back({std::string(NameOf(trace.plan.variant)), attend});
    if (launch.reduction == Reduction::kSecondPass) {
      trace.kernels.push_back(
          {"reduce splits", {attend.end_us, attend.end_us + step.reduce_us()}});
    }
    trace.note =
        "The GPU's clock is its own: its first CTA is drawn where the launch "
        "returned";
    return absl::OkStatus();
  }

  absl::Status RunWhole(const DecodePlan& plan, const DecodeArgs& args,
                        const RunContext& context, StepTrace& trace) {
    benchmarks::Stopwatch stopwatch;
    stopwatch.Begin(stream_.get());
    PAGED_RETURN_IF_ERROR(clock_.Run("launch", trace.stages, [&] {
      return backend_.Run(plan, args, context);
    }));
    stopwatch.End(stream_.get());
    const double launched_us = clock_.Now();
    PAGED_RETURN_IF_ERROR(clock_.Run("synchronize", trace.stages, [&] {
      return backend_.Synchronize(stream_.get());
    }));
    trace.kernels.push_back(
        {std::string(NameOf(plan.variant)),
         {launched_us, launched_us + stopwatch.ElapsedUs()}});
    trace.note = absl::StrCat(
        "no CTAs: traced kernels are of fp16 and head_dim ", kTracedHeadDim);
    return absl::OkStatus();
  }

  Backend& backend_;
  benchmarks::OwnedStream stream_;
  benchmarks::CudaProblem problem_;
  StepClock clock_;
};

}  // namespace

absl::StatusOr<std::vector<StepTrace>> TraceOnCuda(
    const ShapeRequest& shape, const std::vector<PointTier>& tiers) {
  PAGED_ASSIGN_OR_RETURN(const benchmarks::BenchShape bench_shape,
                         BenchShapeOf(shape));
  PAGED_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend,
                         MakeCudaBackend());
  CudaTracer tracer(bench_shape, *backend);
  std::vector<StepTrace> traces;
  for (const PointTier& tier : tiers) {
    PAGED_ASSIGN_OR_RETURN(StepTrace trace,
                           tracer.Trace(TracedOptions(tier, shape)));
    traces.push_back(std::move(trace));
  }
  return traces;
}

}  // namespace paged
