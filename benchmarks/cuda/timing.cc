#include "benchmarks/cuda/timing.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "benchmarks/sampling.h"

namespace paged::benchmarks {
namespace {

// A replay above this counts as long: its jitter is small against it.
constexpr double kLongReplayUs = 50'000;
constexpr int kWarmUpRounds = 2;

}  // namespace

void CheckCuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s (%s)\n", what, cudaGetErrorString(error),
               cudaGetErrorName(error));
  std::exit(3);
}

void StreamDelete::operator()(cudaStream_t stream) const {
  CheckCuda(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

void EventDelete::operator()(cudaEvent_t event) const {
  CheckCuda(cudaEventDestroy(event), "cudaEventDestroy");
}

void DeviceFree::operator()(void* data) const {
  CheckCuda(cudaFree(data), "cudaFree");
}

void GraphDelete::operator()(cudaGraphExec_t graph) const {
  CheckCuda(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
}

OwnedStream MakeStream() {
  cudaStream_t stream = nullptr;
  CheckCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
            "cudaStreamCreate");
  return OwnedStream(stream);
}

OwnedEvent MakeEvent() {
  cudaEvent_t event = nullptr;
  CheckCuda(cudaEventCreate(&event), "cudaEventCreate");
  return OwnedEvent(event);
}

DeviceBytes AllocateBytes(std::size_t bytes) {
  void* data = nullptr;
  CheckCuda(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
  return DeviceBytes(data);
}

void Stopwatch::Begin(cudaStream_t stream) {
  CheckCuda(cudaEventRecord(begin_.get(), stream), "cudaEventRecord");
}

void Stopwatch::End(cudaStream_t stream) {
  CheckCuda(cudaEventRecord(end_.get(), stream), "cudaEventRecord");
}

double Stopwatch::ElapsedUs() const {
  float ms = 0;
  CheckCuda(cudaEventElapsedTime(&ms, begin_.get(), end_.get()),
            "cudaEventElapsedTime");
  return double{ms} * 1e3;
}

absl::StatusOr<TimedGraph> TimedGraph::Capture(cudaStream_t stream,
                                               int num_calls,
                                               const EnqueueCall& enqueue) {
  absl::Status status = enqueue(0);
  CheckCuda(cudaStreamSynchronize(stream), "first call");
  if (!status.ok()) return status;

  CheckCuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
  for (int call = 0; call < num_calls && status.ok(); ++call) {
    status = enqueue(call);
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (!status.ok()) {
    (void)cudaGetLastError();
    if (graph != nullptr)
      CheckCuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return status;
  }
  CheckCuda(ended, "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  CheckCuda(cudaGraphInstantiate(&executable, graph, 0),
            "cudaGraphInstantiate");
  CheckCuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
  CheckCuda(cudaGraphUpload(executable, stream), "cudaGraphUpload");
  return TimedGraph(executable, num_calls);
}

void TimedGraph::Launch(cudaStream_t stream) {
  CheckCuda(cudaGraphLaunch(graph_.get(), stream), "cudaGraphLaunch");
}

void TimedGraph::LaunchTimed(cudaStream_t stream) {
  stopwatch_.Begin(stream);
  Launch(stream);
  stopwatch_.End(stream);
}

double TimedGraph::UsPerCall() const {
  return stopwatch_.ElapsedUs() / num_calls_;
}

std::vector<std::vector<double>> SampleInTurns(
    cudaStream_t stream, absl::Span<TimedGraph* const> graphs,
    const SampleCounts& counts) {
  Stopwatch whole_round;
  std::vector<std::vector<double>> samples(graphs.size());
  double spent_us = 0;  // of the average graph
  for (int round = -counts.num_warmups; round < counts.num_runs; ++round) {
    if (counts.should_stop()) break;
    graphs.front()->Launch(stream);
    whole_round.Begin(stream);
    for (TimedGraph* graph : graphs) graph->LaunchTimed(stream);
    whole_round.End(stream);
    CheckCuda(cudaStreamSynchronize(stream), "replay");
    if (round < 0) continue;
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      samples[i].push_back(graphs[i]->UsPerCall());
    }
    const double mean_us =
        whole_round.ElapsedUs() / static_cast<double>(graphs.size());
    spent_us += mean_us;
    const bool is_long =
        mean_us > kLongReplayUs || spent_us > counts.max_seconds * 1e6;
    if (is_long && round + 1 >= kLeastRuns) break;
  }
  return samples;
}

std::vector<double> TimeInTurns(cudaStream_t stream,
                                absl::Span<TimedGraph* const> graphs,
                                int num_rounds) {
  std::vector<double> medians;
  for (std::vector<double>& us : SampleInTurns(stream, graphs,
                                               {.num_warmups = kWarmUpRounds,
                                               .num_runs = num_rounds,
                                               .max_seconds = kNoLimit})) {
    medians.push_back(MedianOf(std::move(us)));
  }
  return medians;
}

}  // namespace paged::benchmarks
