#include "benchmarks/cuda/host_rows.h"

#include "benchmarks/cuda/problem.h"
#include "benchmarks/host_cost.h"
#include "kernels/cuda/launch.h"

namespace paged::benchmarks {
namespace {

constexpr char kLaunchRow[] = "host/launch/nothing_to_fill";

// The dispatch's choice, with the schedule that it may want.
absl::StatusOr<PlannedDecode> BeginDecode(CudaProblem& problem) {
  absl::StatusOr<PlannedDecode> decode = problem.Plan(AutomaticOptions());
  if (!decode.ok()) return decode;
  if (absl::Status begun = problem.BeginStep(*decode); !begun.ok()) {
    return begun;
  }
  return decode;
}

// Enqueueing alone: the stream is waited for between groups of runs.
Row MeasureRun(const BenchShape& shape, Backend& backend, cudaStream_t stream) {
  CudaProblem problem(shape, backend, stream);
  const absl::StatusOr<PlannedDecode> decode = BeginDecode(problem);
  return TimeOnHost(
      HostRowName("run", shape),
      [&] {
        return decode.ok() ? problem.EnqueueDecode(*decode, 0)
                           : decode.status();
      },
      [&] { CheckCuda(cudaStreamSynchronize(stream), "runs"); });
}

// The part of a run that is ours: arguments checked and made a kernel's.
Row MeasureLowering(const BenchShape& shape, Backend& backend,
                    cudaStream_t stream) {
  CudaProblem problem(shape, backend, stream);
  const absl::StatusOr<PlannedDecode> decode = BeginDecode(problem);
  return TimeOnHost(
      HostRowName("lower", shape),
      [&] {
        return decode.ok() ? problem.LowerDecode(*decode, 0).status()
                           : decode.status();
      },
      [] {});
}

// The part that is not: the runtime's launch call, of a kernel that finds
// nothing to do.
Row MeasureLaunch(cudaStream_t stream) {
  return TimeOnHost(
      kLaunchRow,
      [&] {
        CheckCuda(LaunchFill(ElementKind::kF16, nullptr, 0, 0, stream),
                  "a launch");
        return absl::OkStatus();
      },
      [&] { CheckCuda(cudaStreamSynchronize(stream), "launches"); });
}

}  // namespace

std::vector<HostRow> CudaHostRows(Backend& backend, cudaStream_t stream) {
  std::vector<HostRow> rows = PlanRows(backend.profile());
  for (const BenchShape& shape : HostShapes()) {
    rows.push_back({HostRowName("run", shape), [shape, &backend, stream] {
                      return MeasureRun(shape, backend, stream);
                    }});
    rows.push_back({HostRowName("lower", shape), [shape, &backend, stream] {
                      return MeasureLowering(shape, backend, stream);
                    }});
  }
  rows.push_back({kLaunchRow, [stream] { return MeasureLaunch(stream); }});
  return rows;
}

}  // namespace paged::benchmarks
