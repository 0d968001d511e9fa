// A shape's tensors on the GPU, and what is enqueued on them.
#ifndef PAGED_BENCHMARKS_CUDA_PROBLEM_H_
#define PAGED_BENCHMARKS_CUDA_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/cuda/timing.h"
#include "benchmarks/host_tensors.h"
#include "benchmarks/sample_oracle.h"
#include "benchmarks/shapes.h"
#include "kernels/core/instance.h"
#include "paged/decode.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {

// What cold calls rotate through: five times the largest L2 at hand (60 MB on
// an H200).
inline constexpr int64_t kDeviceRotateBytes = 320'000'000;

// A plan and the memory that its runs use.
struct PlannedDecode {
  DecodePlan plan;
  DeviceBytes workspace;
  DeviceBytes schedule_memory;
  Schedule schedule;  // of the partition chunks
};

class CudaProblem {
 public:
  // Allocates and fills everything; `backend` outlives it.
  CudaProblem(const BenchShape& shape, Backend& backend, cudaStream_t stream);

  const BenchShape& shape() const { return shape_; }
  const BenchTables& tables() const { return tables_; }
  int NumCalls(Cache cache) const;  // of a graph
  DecodeArgs Args(int set) const;

  // Plans, allocates the workspace and prepares the kernels.
  absl::StatusOr<PlannedDecode> Plan(const DecodeOptions& options);
  // The same for a plan that is given.
  absl::StatusOr<PlannedDecode> Prepare(const DecodePlan& plan);
  // A plan for CaptureGather, which reads no queries: on tensor cores, whose
  // rings it takes, also where queries of fp32 are left to CUDA cores.
  absl::StatusOr<PlannedDecode> PlanGather(const DecodeOptions& options);

  // Makes the schedule, where the plan has one: once per decode step, which is
  // a graph here.
  absl::Status BeginStep(PlannedDecode& decode);
  absl::Status EnqueueDecode(const PlannedDecode& decode, int set);
  // What EnqueueDecode makes of its arguments before it launches.
  absl::StatusOr<internal::Launch> LowerDecode(const PlannedDecode& decode,
                                               int set) const;
  // A graph of rotating calls (cold), or of calls on one set (warm).
  absl::StatusOr<TimedGraph> CaptureDecode(PlannedDecode& decode, Cache cache);
  // The gather-only kernel in the launch shape of `decode`'s plan; a schedule
  // is made outside of the graph.
  absl::StatusOr<TimedGraph> CaptureGather(PlannedDecode& decode, Cache cache);

  // Runs set 0 into poisoned outputs and compares the sampled rows.
  absl::StatusOr<double> MeasureError(PlannedDecode& decode,
                                      absl::Span<const SampleRow> samples);

 private:
  std::size_t output_bytes() const {
    return static_cast<std::size_t>(num_rows_ * shape_.output_dim() *
                                    SizeOf(shape_.query_dtype()));
  }
  RunContext ContextOf(const PlannedDecode& decode) const;
  int SetOf(Cache cache, int call) const;

  BenchShape shape_;
  BenchTables tables_;
  DecodeShape decode_shape_;
  Backend& backend_;
  cudaStream_t stream_;
  int64_t num_rows_;
  SideTensors sides_;
  DeviceBytes query_, keys_, values_, tables_on_device_, lens_, output_, lse_;
  DeviceBytes sides_on_device_;
  DeviceBytes sink_;  // what the gather leaves
};

// Options that force one instance with one split count; 1 split is v1.
DecodeOptions ForcedOptions(InstanceShape instance, int splits,
                            Reduction reduction = Reduction::kAuto);

DecodeOptions ForcedChunks(InstanceShape instance);

// Split counts that are tried where the best one is searched for: at most one
// per tile of the longest sequence, and no more than 16384 CTAs.
std::vector<int> SplitCandidates(const BenchShape& shape);

// The gather-only kernel in its fastest launch shape.
struct BestGather {
  PlannedDecode decode;
  double time_us = 0;
};
absl::StatusOr<BestGather> FindBestGather(CudaProblem& problem, Cache cache,
                                          cudaStream_t stream);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_PROBLEM_H_
