// Times one shape in several ways side by side: the ceiling (reading the same
// blocks and computing nothing) and tiers, which are variants with what a user
// forces. All take turns, cold: inputs rotate through more memory than any
// cache holds.
//
// Example:
//
//     auto measurer = MakeCpuTierMeasurer(0);
//     auto rows = measurer->Measure(shape, {{"auto", OptionsOf("auto")}}, {});
//     double median_us = Summarise((*rows)[0].times_us).median;
#ifndef PAGED_BENCHMARKS_TIERS_H_
#define PAGED_BENCHMARKS_TIERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/sampling.h"
#include "benchmarks/shapes.h"
#include "paged/backend.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::benchmarks {

struct Tier {
  std::string name;
  DecodeOptions options = {};
};

struct TierResult {
  std::string name;   // of the tier; of the ceiling "gather" or "read"
  std::string error;  // empty, or why its numbers mean nothing
  bool is_ceiling = false;
  DecodePlan plan = {};  // the ceiling's where that is a kernel
  // Microseconds of a call, one for each sample. On a GPU a sample is a replay
  // of a CUDA graph of `calls_per_sample` calls.
  std::vector<double> times_us;
  int calls_per_sample = 1;
  // Memory that a run needs beside its workspace, of the device: on a CPU the
  // growth of what is resident, in pages; on a GPU what cudaMalloc took.
  int64_t allocated_bytes = 0;
  double max_abs_error = 0;  // of sampled rows against float64
};

class TierMeasurer {
 public:
  virtual ~TierMeasurer() = default;

  virtual Backend& backend() = 0;

  // The results of the tiers, in their order, and the ceiling first where
  // there is one. What cannot be planned or run is an error of its result.
  // ResourceExhausted where the shape does not fit, Cancelled.
  virtual absl::StatusOr<std::vector<TierResult>> Measure(
      const BenchShape& shape, const std::vector<Tier>& tiers,
      const SampleCounts& counts) = 0;
};

// 0 threads: one per core that the process may use.
std::unique_ptr<TierMeasurer> MakeCpuTierMeasurer(int num_threads);

// Errors as MakeCudaBackend.
absl::StatusOr<std::unique_ptr<TierMeasurer>> MakeCudaTierMeasurer();

// Bytes of keys and values above which a variant takes seconds, or several
// times the cache's memory, so that it is measured only when asked for by name.
int64_t LargestBytesOf(Variant variant, DeviceKind kind);

// ResourceExhausted when the inputs of `shape`, rotated through at least
// `rotate_bytes`, take more than nine tenths of `free_bytes`.
absl::Status CheckFits(const BenchShape& shape, int64_t rotate_bytes,
                       int64_t free_bytes);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_TIERS_H_
