#include "benchmarks/cpu/decode_row.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/cpu/problem.h"
#include "benchmarks/cpu/read_ceiling.h"
#include "benchmarks/measurer.h"
#include "benchmarks/sample_oracle.h"
#include "benchmarks/sampling.h"
#include "paged/cpu_backend.h"
#include "paged/decode.h"

namespace paged::benchmarks {
namespace {

// Tokens whose K and V stay in the second cache of every core (1 MB).
constexpr int64_t kCachedBytesPerThread = 512 << 10;
// Rounds that take about a second, within these limits.
constexpr double kMaxSeconds = 1.0;
constexpr double kAssumedBytesPerSecond = 1e10;
constexpr int kMinRounds = 9;
constexpr int kMaxRounds = 10001;

// Medians, and the fastest round.
struct Times {
  double decode_s = 0;
  double least_decode_s = 0;
  double read_s = 0;
};

// How far outputs in fp32 of the same tensors are off, which no rounding of
// outputs hides.
absl::StatusOr<double> RelativeErrorInFp32(CpuProblem& problem,
                                           Backend& backend) {
  const DecodeArgs args = problem.ArgsInFp32();
  const absl::StatusOr<DecodePlan> plan =
      PlanDecode(args.shape, backend, OptionsOf("auto"));
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<Workspace> workspace =
      backend.Reserve(plan->workspace_bytes);
  if (!workspace.ok()) return workspace.status();
  const RunContext context{.workspace = *workspace};
  absl::Status status = backend.Prepare(*plan);
  status.Update(backend.InitWorkspace(*plan, context));
  status.Update(backend.Run(*plan, args, context));
  if (!status.ok()) return status;
  return problem.RelativeErrorInFp32();
}

// Times decode in turns with the reading of its blocks, and leaves in `row` how
// far off the result is.
absl::StatusOr<Times> TimeDecode(const CpuDecodeCase& c, CpuDecodeRow& row) {
  CpuProblem problem(c.shape, c.layout,
                     c.cache == Cache::kCold ? kHostRotateBytes : 0);
  // Of both, as the threads of a pool stay awake after a loop: those of a
  // second pool would find them in their place.
  ThreadPool threads(c.num_threads);
  const std::unique_ptr<Backend> backend = MakeCpuBackend(
      {.num_threads = c.num_threads,
       .executor = [&](int64_t count,
                       const std::function<void(int64_t)>& body) {
         threads.ParallelFor(count, body);
       }});
  const absl::StatusOr<DecodePlan> plan =
      PlanDecode(problem.decode_shape(), *backend, OptionsOf("auto"));
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<Workspace> workspace =
      backend->Reserve(plan->workspace_bytes);
  if (!workspace.ok()) return workspace.status();
  const RunContext context{.workspace = *workspace};
  absl::Status status = backend->Prepare(*plan);
  status.Update(backend->InitWorkspace(*plan, context));

  row.splits = plan->num_splits;
  const int num_sets = c.cache == Cache::kCold ? problem.num_sets() : 1;
  int decode_set = 0;
  int read_set = num_sets / 2;
  const std::vector<std::vector<double>> seconds = SampleInTurns(
      {.num_warmups = 1,
       .num_runs = static_cast<int>(std::clamp<double>(
           kMaxSeconds * kAssumedBytesPerSecond / row.kv_bytes, kMinRounds,
           kMaxRounds)),
       .max_seconds = kNoLimit},
      {TimedByClock([&] {
         status.Update(backend->Run(
             *plan, problem.Args(decode_set++ % num_sets), context));
       }),
       TimedByClock([&] { problem.Read(threads, read_set++ % num_sets); })});
  status.Update(backend->Run(*plan, problem.Args(0), context));
  if (!status.ok()) return status;
  row.max_abs_error = problem.LargestErrorOfSet0();
  row.error = RefusalOf(c.shape, row.max_abs_error);
  row.relative_error = problem.RelativeErrorOfSet0();
  const absl::StatusOr<double> in_fp32 = RelativeErrorInFp32(problem, *backend);
  if (!in_fp32.ok()) return in_fp32.status();
  row.relative_error_fp32 = *in_fp32;
  return Times{MedianOf(seconds[0]),
               *std::min_element(seconds[0].begin(), seconds[0].end()),
               MedianOf(seconds[1])};
}

// GB/s of the same group, dtype and head_dim with K and V in the second cache:
// what arithmetic alone allows, so by the fastest round: whatever else runs on
// the machine only takes from it. One sequence per thread.
double ArithmeticGbPerS(const CpuDecodeCase& c) {
  CpuDecodeCase cached = c;
  const int64_t token_bytes = 2 * int64_t{c.shape.num_kv_heads} *
                              c.shape.head_dim * SizeOf(c.shape.dtype);
  const int64_t tokens = kCachedBytesPerThread / token_bytes / 64 * 64;
  cached.shape.context_lens.assign(static_cast<size_t>(c.num_threads),
                                   static_cast<int32_t>(tokens));
  cached.cache = Cache::kWarm;
  static auto* const known = new std::map<std::string, double>;
  const std::string key = NameOf(cached);
  if (const auto found = known->find(key); found != known->end()) {
    return found->second;
  }
  CpuDecodeRow row;
  row.kv_bytes = static_cast<double>(cached.shape.kv_bytes());
  const absl::StatusOr<Times> times = TimeDecode(cached, row);
  const double rate =
      times.ok() ? row.kv_bytes / times->least_decode_s * 1e-9 : 0;
  known->emplace(key, rate);
  return rate;
}

}  // namespace

CpuDecodeRow MeasureDecode(const CpuDecodeCase& c) {
  CpuDecodeRow row;
  row.kv_bytes = static_cast<double>(c.shape.kv_bytes());
  const absl::StatusOr<Times> times = TimeDecode(c, row);
  if (!times.ok()) {
    row.error = times.status().ToString();
    return row;
  }
  row.time_us = times->decode_s * 1e6;
  row.least_time_us = times->least_decode_s * 1e6;
  row.read_gb_per_s = row.kv_bytes / times->read_s * 1e-9;
  row.arithmetic_gb_per_s = ArithmeticGbPerS(c);
  const double gb_per_s = row.kv_bytes / times->decode_s * 1e-9;
  row.ratio_to_read = gb_per_s / row.read_gb_per_s;
  row.ratio_to_bound =
      gb_per_s / std::min(row.read_gb_per_s, row.arithmetic_gb_per_s);
  return row;
}

}  // namespace paged::benchmarks
