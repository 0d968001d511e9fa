#include "benchmarks/cuda/problem.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/measurer.h"
#include "kernels/cuda/launch.h"
#include "paged/internal/device_rules.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {
namespace {

// Calls of a graph, at least. Small work takes more of them, so that a replay
// is long against the resolution of events (0.5 us).
constexpr int kMinCalls = 8;
constexpr int kMinSmallCalls = 32;
constexpr int64_t kSmallBytes = 60'000'000;

constexpr int kMaxCtas = 16384;
constexpr int kGatherRounds = 7;

DeviceBytes Upload(const void* host, std::size_t bytes) {
  DeviceBytes data = AllocateBytes(bytes);
  if (bytes == 0) return data;
  CheckCuda(cudaMemcpy(data.get(), host, bytes, cudaMemcpyHostToDevice),
            "cudaMemcpy");
  return data;
}

DeviceBytes Filled(DType dtype, int64_t count, uint32_t seed,
                   cudaStream_t stream) {
  DeviceBytes data =
      AllocateBytes(static_cast<std::size_t>(count * SizeOf(dtype)));
  CheckCuda(
      LaunchFill(internal::KindOf(dtype), data.get(), count, seed, stream),
      "LaunchFill");
  return data;
}

}  // namespace

CudaProblem::CudaProblem(const BenchShape& shape, Backend& backend,
                         cudaStream_t stream)
    : shape_(shape),
      tables_(MakeTables(shape, kDeviceRotateBytes)),
      decode_shape_(MakeDecodeShape(shape, tables_)),
      backend_(backend),
      stream_(stream),
      num_rows_(shape.num_query_tokens() * shape.num_q_heads()),
      sides_(shape, tables_) {
  const int64_t heads =
      tables_.table.num_blocks * shape.block_size * shape.num_kv_heads;
  const std::vector<std::byte> query = MakeQueries(shape);
  query_ = Upload(query.data(), query.size());
  keys_ = Filled(shape.dtype, heads * shape.head_dim, kKeySeed, stream);
  values_ = Filled(shape.dtype, heads * shape.output_dim(), kValueSeed, stream);
  sides_on_device_ = Upload(sides_.bytes().data(), sides_.bytes().size());
  tables_on_device_ = Upload(tables_.table.entries.data(),
                             tables_.table.entries.size() * sizeof(int32_t));
  lens_ = Upload(shape_.context_lens.data(),
                 shape_.context_lens.size() * sizeof(int32_t));
  output_ = AllocateBytes(output_bytes());
  lse_ = AllocateBytes(static_cast<std::size_t>(num_rows_) * sizeof(float));
  sink_ = AllocateBytes(sizeof(uint32_t));
  CheckCuda(cudaStreamSynchronize(stream), "filling the inputs");
}

DecodeArgs CudaProblem::Args(int set) const {
  DecodeArgs args;
  args.shape = decode_shape_;
  args.query = query_.get();
  args.key_cache = keys_.get();
  args.value_cache = values_.get();
  args.block_tables = static_cast<const int32_t*>(tables_on_device_.get()) +
                      tables_.offset_of(set, shape_);
  args.context_lens = static_cast<const int32_t*>(lens_.get());
  args.output = output_.get();
  args.lse = static_cast<float*>(lse_.get());
  sides_.Bind(sides_on_device_.get(), args);
  return args;
}

int CudaProblem::SetOf(Cache cache, int call) const {
  return cache == Cache::kCold ? call % tables_.num_sets : 0;
}

int CudaProblem::NumCalls(Cache cache) const {
  const int least =
      shape_.kv_bytes() < kSmallBytes ? kMinSmallCalls : kMinCalls;
  if (cache == Cache::kWarm) return least;
  const int sets = tables_.num_sets;
  return (least + sets - 1) / sets * sets;
}

absl::StatusOr<PlannedDecode> CudaProblem::Plan(const DecodeOptions& options) {
  absl::StatusOr<DecodePlan> plan =
      PlanDecode(decode_shape_, backend_, options);
  if (!plan.ok()) return plan.status();
  return Prepare(*plan);
}

absl::StatusOr<PlannedDecode> CudaProblem::Prepare(const DecodePlan& plan) {
  PlannedDecode decode = {.plan = plan,
                          .workspace = AllocateBytes(plan.workspace_bytes),
                          .schedule_memory = AllocateBytes(plan.schedule_bytes),
                          .schedule = {}};
  decode.schedule = {.data = decode.schedule_memory.get(),
                     .bytes = plan.schedule_bytes};
  absl::Status status = backend_.Prepare(plan);
  if (status.ok()) {
    status = backend_.InitWorkspace(
        plan, {.stream = stream_,
               .workspace = {.data = decode.workspace.get(),
                             .bytes = plan.workspace_bytes}});
  }
  if (!status.ok()) return status;
  return decode;
}

absl::StatusOr<PlannedDecode> CudaProblem::PlanGather(
    const DecodeOptions& options) {
  BenchShape usual = shape_;
  usual.own_query_dtype.reset();
  DecodeShape shape = decode_shape_;
  shape.query_dtype = usual.query_dtype();
  const absl::StatusOr<DecodePlan> plan = PlanDecode(shape, backend_, options);
  if (!plan.ok()) return plan.status();
  return Prepare(*plan);
}

absl::Status CudaProblem::BeginStep(PlannedDecode& decode) {
  if (decode.plan.partition != Partition::kChunks) return absl::OkStatus();
  return backend_.MakeSchedule(decode.plan, Args(0).context_lens,
                               decode.schedule, stream_);
}

absl::Status CudaProblem::EnqueueDecode(const PlannedDecode& decode, int set) {
  return backend_.Run(decode.plan, Args(set), ContextOf(decode));
}

absl::StatusOr<internal::Launch> CudaProblem::LowerDecode(
    const PlannedDecode& decode, int set) const {
  DecodeArgs args = Args(set);
  args.shape.query_dtype = decode.plan.shape.query_dtype;  // PlanGather's
  return internal::Lower(decode.plan, args, backend_.profile(),
                         ContextOf(decode));
}

RunContext CudaProblem::ContextOf(const PlannedDecode& decode) const {
  return {.stream = stream_,
          .workspace = {.data = decode.workspace.get(),
                        .bytes = decode.plan.workspace_bytes},
          .schedule = decode.plan.partition == Partition::kChunks
                          ? &decode.schedule
                          : nullptr};
}

absl::StatusOr<TimedGraph> CudaProblem::CaptureDecode(PlannedDecode& decode,
                                                      Cache cache) {
  return TimedGraph::Capture(stream_, NumCalls(cache),
                             [&](int call) -> absl::Status {
                               if (call == 0) {
                                 const absl::Status status = BeginStep(decode);
                                 if (!status.ok()) return status;
                               }
                               return EnqueueDecode(decode, SetOf(cache, call));
                             });
}

absl::StatusOr<TimedGraph> CudaProblem::CaptureGather(PlannedDecode& decode,
                                                      Cache cache) {
  const absl::Status begun = BeginStep(decode);
  if (!begun.ok()) return begun;
  const InstanceConfig* instance = internal::ConfigOf(decode.plan.instance);
  return TimedGraph::Capture(
      stream_, NumCalls(cache), [&](int call) -> absl::Status {
        const absl::StatusOr<internal::Launch> launch =
            LowerDecode(decode, SetOf(cache, call));
        if (!launch.ok()) return launch.status();
        const cudaError_t error =
            LaunchGather(*instance, launch->params, launch->starts_early,
                         static_cast<uint32_t*>(sink_.get()), stream_);
        if (error == cudaSuccess) return absl::OkStatus();
        return absl::InternalError(
            absl::StrCat("LaunchGather: ", cudaGetErrorString(error)));
      });
}

absl::StatusOr<double> CudaProblem::MeasureError(
    PlannedDecode& decode, absl::Span<const SampleRow> samples) {
  std::vector<std::byte> output(output_bytes());
  std::vector<float> lse(static_cast<std::size_t>(num_rows_));
  // All ones are NaN in every dtype.
  CheckCuda(cudaMemsetAsync(output_.get(), 0xff, output.size(), stream_),
            "poisoning the output");
  CheckCuda(
      cudaMemsetAsync(lse_.get(), 0xff, lse.size() * sizeof(float), stream_),
      "poisoning the lse");
  absl::Status status = BeginStep(decode);
  if (status.ok()) status = EnqueueDecode(decode, 0);
  CheckCuda(cudaStreamSynchronize(stream_), "decode");
  if (!status.ok()) return status;
  CheckCuda(cudaMemcpy(output.data(), output_.get(), output.size(),
                       cudaMemcpyDeviceToHost),
            "reading the output");
  CheckCuda(cudaMemcpy(lse.data(), lse_.get(), lse.size() * sizeof(float),
                       cudaMemcpyDeviceToHost),
            "reading the lse");
  return LargestError(samples, shape_, output.data(), lse.data());
}

DecodeOptions ForcedOptions(InstanceShape instance, int splits,
                            Reduction reduction) {
  DecodeOptions options = AutomaticOptions();
  options.variant = splits == 1 ? Variant::kV1 : Variant::kSplitK;
  options.splits = splits;
  options.reduction = reduction;
  options.instance =
      InstanceChoice{.warps = instance.warps, .stages = instance.stages};
  return options;
}

std::vector<int> SplitCandidates(const BenchShape& shape) {
  std::vector<int> candidates = {1};
  const int64_t units = int64_t{shape.num_seqs()} * shape.num_kv_heads;
  for (int splits : {2, 3, 4, 6, 8, 12, 16, 24, 32}) {
    if (splits * 16 > shape.max_context_len()) break;
    if (units * splits > kMaxCtas) break;
    candidates.push_back(splits);
  }
  return candidates;
}

DecodeOptions ForcedChunks(InstanceShape instance) {
  DecodeOptions options = AutomaticOptions();
  options.partition = Partition::kChunks;
  options.instance =
      InstanceChoice{.warps = instance.warps, .stages = instance.stages};
  return options;
}

absl::StatusOr<BestGather> FindBestGather(CudaProblem& problem, Cache cache,
                                          cudaStream_t stream) {
  std::vector<DecodeOptions> ways;
  for (InstanceShape instance : kInstanceShapes) {
    for (int splits : SplitCandidates(problem.shape())) {
      ways.push_back(ForcedOptions(instance, splits));
    }
    if (problem.shape().is_ragged()) ways.push_back(ForcedChunks(instance));
  }
  BestGather best;
  for (const DecodeOptions& options : ways) {
    absl::StatusOr<PlannedDecode> decode = problem.PlanGather(options);
    // An instance may not fit this device.
    if (!decode.ok()) continue;
    absl::StatusOr<TimedGraph> graph = problem.CaptureGather(*decode, cache);
    if (!graph.ok()) return graph.status();
    TimedGraph* const graphs[] = {&*graph};
    const double time_us = TimeInTurns(stream, graphs, kGatherRounds).front();
    if (best.time_us == 0 || time_us < best.time_us) {
      best = {*std::move(decode), time_us};
    }
  }
  if (best.time_us == 0) {
    return absl::UnimplementedError("no gather kernel for this shape");
  }
  return best;
}

}  // namespace paged::benchmarks
