#include "benchmarks/cuda/host_cost.h"

#include <chrono>

#include "absl/status/statusor.h"
#include "benchmarks/cuda/timing.h"
#include "benchmarks/sampling.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::benchmarks {
namespace {

constexpr int kHostRounds = 21;
constexpr int kCallsOfRound = 100;

// The median of the rounds' means; `begin` goes before each, outside the clock.
template <typename Begin, typename Call>
absl::StatusOr<double> MeasureCallUs(const Begin& begin, const Call& call) {
  std::vector<double> times_us;
  for (int round = 0; round < kHostRounds; ++round) {
    begin();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCallsOfRound; ++i) {
      const absl::Status status = call(i);
      if (!status.ok()) return status;
    }
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - start;
    times_us.push_back(elapsed.count() / kCallsOfRound);
  }
  return MedianOf(times_us);
}

absl::StatusOr<double> MeasurePlanUs(const CudaProblem& problem,
                                     const Backend& backend) {
  const absl::StatusOr<DecodeProblem> made =
      ValidateShape(problem.decode_shape());
  if (!made.ok()) return made.status();
  return MeasureCallUs(
      [] {},
      [&](int) {
        return MakePlan(*made, backend.profile(), AutomaticOptions()).status();
      });
}

absl::StatusOr<double> MeasureRunUs(CudaProblem& problem, cudaStream_t stream) {
  const absl::StatusOr<PlannedDecode> decode = problem.Plan(AutomaticOptions());
  if (!decode.ok()) return decode.status();
  const int num_sets = problem.tables().num_sets;
  return MeasureCallUs(
      [&] { CheckCuda(cudaStreamSynchronize(stream), "decode"); },
      [&](int call) {
        return problem.EnqueueDecode(*decode, call % num_sets);
      });
}

Row HostRow(absl::string_view variant, const BenchShape& shape, Cache cache,
            const absl::StatusOr<double>& time_us) {
  Row row = MakeFailedRow(variant, shape, cache,
                          time_us.ok() ? "" : time_us.status().ToString());
  row.kv_bytes = 0;
  if (time_us.ok()) SetTime(row, *time_us, 0);
  return row;
}

}  // namespace

std::vector<Row> MeasureHost(CudaProblem& problem, const Backend& backend,
                             Cache cache, cudaStream_t stream) {
  const BenchShape& shape = problem.shape();
  return {HostRow("host_plan", shape, cache, MeasurePlanUs(problem, backend)),
          HostRow("host_run", shape, cache, MeasureRunUs(problem, stream))};
}

}  // namespace paged::benchmarks
