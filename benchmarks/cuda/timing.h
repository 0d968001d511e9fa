// Timing on the GPU: CUDA graphs between events. A CUDA error ends the program
// with exit code 3; there is nothing left to measure after one.
#ifndef PAGED_BENCHMARKS_CUDA_TIMING_H_
#define PAGED_BENCHMARKS_CUDA_TIMING_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "benchmarks/sampling.h"

namespace paged::benchmarks {

void CheckCuda(cudaError_t error, const char* what);

struct StreamDelete {
  void operator()(cudaStream_t stream) const;
};
using OwnedStream = std::unique_ptr<CUstream_st, StreamDelete>;
OwnedStream MakeStream();

struct EventDelete {
  void operator()(cudaEvent_t event) const;
};
using OwnedEvent = std::unique_ptr<CUevent_st, EventDelete>;
OwnedEvent MakeEvent();

struct DeviceFree {
  void operator()(void* data) const;
};
using DeviceBytes = std::unique_ptr<void, DeviceFree>;
DeviceBytes AllocateBytes(std::size_t bytes);

// Enqueues call `call` on the stream that is being measured.
using EnqueueCall = std::function<absl::Status(int call)>;

// Two events and what lies between them.
class Stopwatch {
 public:
  void Begin(cudaStream_t stream);
  void End(cudaStream_t stream);
  // After the stream was synchronised.
  double ElapsedUs() const;

 private:
  OwnedEvent begin_ = MakeEvent();
  OwnedEvent end_ = MakeEvent();
};

struct GraphDelete {
  void operator()(cudaGraphExec_t graph) const;
};

// A CUDA graph of several calls.
class TimedGraph {
 public:
  // Runs `enqueue(0)` once outside the graph, so that kernels are loaded, and
  // then captures calls 0 to num_calls - 1. The first error of `enqueue` is
  // returned, with the capture ended.
  static absl::StatusOr<TimedGraph> Capture(cudaStream_t stream, int num_calls,
                                            const EnqueueCall& enqueue);

  void Launch(cudaStream_t stream);
  // Launches between this graph's events.
  void LaunchTimed(cudaStream_t stream);
  // Microseconds per call of the last timed launch; the stream must be idle.
  double UsPerCall() const;

 private:
  TimedGraph(cudaGraphExec_t graph, int num_calls)
      : graph_(graph), num_calls_(num_calls) {}

  std::unique_ptr<CUgraphExec_st, GraphDelete> graph_;
  int num_calls_;
  Stopwatch stopwatch_;
};

// Replays the graphs in turns, and returns the microseconds per call of each
// replay of each. Stops after kLeastRuns rounds when a replay takes longer than
// 50 ms.
//
// Each round is enqueued as a whole behind one untimed replay, so that the
// host's launches are hidden behind work on the GPU.
std::vector<std::vector<double>> SampleInTurns(
    cudaStream_t stream, absl::Span<TimedGraph* const> graphs,
    const SampleCounts& counts);

// The medians of `num_rounds` rounds.
std::vector<double> TimeInTurns(cudaStream_t stream,
                                absl::Span<TimedGraph* const> graphs,
                                int num_rounds);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_TIMING_H_
