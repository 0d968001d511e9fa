#include "benchmarks/regret.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/cuda/problem.h"
#include "benchmarks/cuda/timing.h"
#include "benchmarks/measurer.h"

namespace paged::benchmarks {
namespace {

constexpr int kRounds = 12;

// The automatic choice, and what may be forced instead: each variant, split_k
// with each count, chunks.
std::vector<DecodeOptions> WaysToRun(const BenchShape& shape) {
  std::vector<DecodeOptions> ways = {AutomaticOptions()};
  for (int splits : SplitCandidates(shape)) {
    DecodeOptions options = AutomaticOptions();
    options.variant = splits == 1 ? Variant::kV1 : Variant::kSplitK;
    options.splits = splits;
    ways.push_back(options);
  }
  if (shape.is_ragged()) {
    DecodeOptions options = AutomaticOptions();
    options.partition = Partition::kChunks;
    ways.push_back(options);
  }
  return ways;
}

struct Entrant {
  PlannedDecode decode;
  TimedGraph graph;
};

absl::StatusOr<Entrant> Enter(const DecodeOptions& options,
                              CudaProblem& problem) {
  absl::StatusOr<PlannedDecode> decode = problem.Plan(options);
  if (!decode.ok()) return decode.status();
  absl::StatusOr<TimedGraph> graph =
      problem.CaptureDecode(*decode, Cache::kCold);
  if (!graph.ok()) return graph.status();
  return Entrant{*std::move(decode), *std::move(graph)};
}

absl::StatusOr<RegretRow> MeasureRow(const RegretShape& shape, Backend& backend,
                                     cudaStream_t stream) {
  CudaProblem problem(shape.shape, backend, stream);
  std::vector<Entrant> entrants;
  for (const DecodeOptions& options : WaysToRun(shape.shape)) {
    absl::StatusOr<Entrant> entrant = Enter(options, problem);
    if (!entrant.ok()) {
      return absl::Status(
          entrant.status().code(),
          absl::StrCat(shape.name, ": ", entrant.status().message()));
    }
    entrants.push_back(*std::move(entrant));
  }
  std::vector<TimedGraph*> graphs;
  for (Entrant& entrant : entrants) graphs.push_back(&entrant.graph);
  const std::vector<double> times_us = TimeInTurns(stream, graphs, kRounds);

  RegretRow row = {.shape = shape, .automatic = {}, .forced = {}};
  row.automatic = {entrants[0].decode.plan, times_us[0]};
  for (std::size_t i = 1; i < entrants.size(); ++i) {
    row.forced.push_back({entrants[i].decode.plan, times_us[i]});
  }
  return row;
}

}  // namespace

absl::Status MeasureRegret(
    const std::vector<RegretShape>& shapes,
    absl::FunctionRef<void(const RegretRow& row)> report) {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeCudaBackend();
  if (!backend.ok()) return backend.status();
  const OwnedStream stream = MakeStream();
  for (const RegretShape& shape : shapes) {
    absl::StatusOr<RegretRow> row = MeasureRow(shape, **backend, stream.get());
    if (!row.ok()) return row.status();
    report(*row);
  }
  return absl::OkStatus();
}

}  // namespace paged::benchmarks
