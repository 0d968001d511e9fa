// Every instance with every split count and reduction: what the cost model is
// fitted to.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/measurer.h"
#include "paged/internal/lower.h"
#include "paged/internal/schedule.h"

namespace paged::benchmarks {
namespace {

constexpr int kRounds = 10;

struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

double Time(cudaStream_t stream, TimedGraph& graph) {
  TimedGraph* const graphs[] = {&graph};
  return TimeInTurns(stream, graphs, kRounds).front();
}

std::vector<Reduction> ReductionsOf(int splits) {
  if (splits == 1) return {Reduction::kAuto};
  return {Reduction::kSecondPass, Reduction::kCluster, Reduction::kLastCta};
}

// Cuts at most `max_extra_chunks` chunks beyond one per sequence.
DecodePlan Rechunked(DecodePlan plan, int max_extra_chunks) {
  plan.num_ctas += int64_t{max_extra_chunks - plan.chunking.max_extra_chunks} *
                   plan.shape.num_kv_heads * plan.num_row_tiles;
  plan.chunking.max_extra_chunks = max_extra_chunks;
  plan.schedule_bytes = internal::ScheduleBytes(plan);
  plan.workspace_bytes = internal::WorkspaceLayoutOf(plan).total_bytes;
  return plan;
}

// The plans of an instance that do not differ in what they gather.
using PlanGroup = std::vector<DecodePlan>;

std::vector<PlanGroup> GroupsOf(const BenchShape& shape, InstanceShape instance,
                                CudaProblem& problem) {
  std::vector<PlanGroup> groups;
  for (int splits : SplitCandidates(shape)) {
    PlanGroup& group = groups.emplace_back();
    for (Reduction reduction : ReductionsOf(splits)) {
      const absl::StatusOr<PlannedDecode> decode =
          problem.Plan(ForcedOptions(instance, splits, reduction));
      // A reduction may not serve that many splits.
      if (decode.ok()) group.push_back(decode->plan);
    }
  }
  if (!shape.is_ragged()) return groups;
  const absl::StatusOr<PlannedDecode> chunks =
      problem.Plan(ForcedChunks(instance));
  if (!chunks.ok()) return groups;
  for (int extra : {8, 16, 32, 64, 96, 128, 192, 256, 512, 1000}) {
    groups.push_back({Rechunked(chunks->plan, extra)});
  }
  return groups;
}

void SweepGroup(const PlanGroup& group, CudaProblem& problem,
                cudaStream_t stream, std::FILE* file) {
  const BenchShape& shape = problem.shape();
  double gather_us = 0;
  for (const DecodePlan& plan : group) {
    absl::StatusOr<PlannedDecode> decode = problem.Prepare(plan);
    if (!decode.ok()) continue;
    if (gather_us == 0) {
      absl::StatusOr<TimedGraph> gather =
          problem.CaptureGather(*decode, Cache::kCold);
      if (!gather.ok()) return;
      gather_us = Time(stream, *gather);
    }
    absl::StatusOr<TimedGraph> graph =
        problem.CaptureDecode(*decode, Cache::kCold);
    if (!graph.ok()) continue;
    std::fprintf(
        file,
        "%s,%d,%d,%d,%d,%d,%lld,%d,%d,%s,%d,%d,%s,%lld,%d,%.3f,%.3f,%.3f\n",
        ShapeName(shape).c_str(), shape.num_seqs(), shape.max_context_len(),
        shape.num_kv_heads, shape.group, shape.head_dim,
        static_cast<long long>(shape.kv_bytes()), plan.instance.warps,
        plan.instance.stages, std::string(NameOf(plan.partition)).c_str(),
        plan.num_splits, plan.chunking.max_extra_chunks,
        std::string(NameOf(plan.reduction)).c_str(),
        static_cast<long long>(plan.num_ctas), plan.resident_ctas,
        plan.predicted_us, Time(stream, *graph), gather_us);
  }
}

void SweepShape(const BenchShape& shape, Backend& backend, cudaStream_t stream,
                std::FILE* file) {
  CudaProblem problem(shape, backend, stream);
  for (InstanceShape instance : kInstanceShapes) {
    for (const PlanGroup& group : GroupsOf(shape, instance, problem)) {
      SweepGroup(group, problem, stream, file);
    }
  }
  std::fflush(file);
}

}  // namespace

absl::Status RunCudaSweep(const std::string& path, const std::string& filter) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
  if (!backend.ok()) return backend.status();
  const std::unique_ptr<std::FILE, FileClose> file(
      std::fopen(path.c_str(), "w"));
  if (file == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep_out must be a file that can be written; got ",
                     path, ": ", std::strerror(errno)));
  }
  std::fprintf(file.get(),
               "shape,num_seqs,max_context_len,num_kv_heads,group,head_dim,"
               "kv_bytes,warps,stages,partition,splits,extra_chunks,reduction,"
               "ctas,resident_ctas,"
               "predicted_us,"
               "time_us,gather_us\n");
  const OwnedStream stream = MakeStream();
  for (const BenchShape& shape : SweepShapes()) {
    if (!absl::StrContains(ShapeName(shape), filter)) continue;
    std::fprintf(stderr, "sweep: %s\n", ShapeName(shape).c_str());
    SweepShape(shape, **backend, stream.get(), file.get());
  }
  return absl::OkStatus();
}

}  // namespace paged::benchmarks
