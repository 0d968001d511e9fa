// Every instance with every split count and reduction: what the cost model is
// fitted to.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/measurer.h"

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

void SweepShape(const BenchShape& shape, Backend& backend, cudaStream_t stream,
                std::FILE* file) {
  CudaProblem problem(shape, backend, stream);
  for (InstanceShape instance : kInstanceShapes) {
    for (int splits : SplitCandidates(shape)) {
      double gather_us = 0;
      for (Reduction reduction : ReductionsOf(splits)) {
        absl::StatusOr<PlannedDecode> decode =
            problem.Plan(ForcedOptions(instance, splits, reduction));
        // A reduction may not serve that many splits.
        if (!decode.ok()) continue;
        if (gather_us == 0) {
          absl::StatusOr<TimedGraph> gather =
              problem.CaptureGather(decode->plan, Cache::kCold);
          if (!gather.ok()) continue;
          gather_us = Time(stream, *gather);
        }
        absl::StatusOr<TimedGraph> graph =
            problem.CaptureDecode(*decode, Cache::kCold);
        if (!graph.ok()) continue;
        const DecodePlan& plan = decode->plan;
        std::fprintf(
            file, "%s,%d,%d,%d,%d,%d,%lld,%d,%d,%d,%s,%lld,%d,%.3f,%.3f,%.3f\n",
            ShapeName(shape).c_str(), shape.num_seqs(), shape.max_context_len(),
            shape.num_kv_heads, shape.group, shape.head_dim,
            static_cast<long long>(shape.kv_bytes()), instance.warps,
            instance.stages, splits,
            std::string(NameOf(plan.reduction)).c_str(),
            static_cast<long long>(plan.num_ctas), plan.resident_ctas,
            plan.predicted_us, Time(stream, *graph), gather_us);
      }
    }
  }
  std::fflush(file);
}

}  // namespace

absl::Status RunCudaSweep(const std::string& path) {
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
               "kv_bytes,warps,stages,splits,reduction,ctas,resident_ctas,"
               "predicted_us,"
               "time_us,gather_us\n");
  const OwnedStream stream = MakeStream();
  for (const BenchShape& shape : SweepShapes()) {
    std::fprintf(stderr, "sweep: %s\n", ShapeName(shape).c_str());
    SweepShape(shape, **backend, stream.get(), file.get());
  }
  return absl::OkStatus();
}

}  // namespace paged::benchmarks
