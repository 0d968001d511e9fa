#include "benchmarks/host_cost.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::benchmarks {
namespace {

constexpr int kGroups = 50;
// Far fewer launches than a stream's queue holds (about a thousand).
constexpr int kCallsPerGroup = 64;

Row MeasurePlan(const BenchShape& shape, const DeviceProfile& profile) {
  const std::string name = HostRowName("make_plan", shape);
  const absl::StatusOr<DecodeProblem> problem =
      ValidateShape(MakeDecodeShape(shape, MakeTables(shape, 0)));
  const DecodeOptions options = AutomaticOptions();
  return TimeOnHost(
      name,
      [&] {
        return problem.ok() ? MakePlan(*problem, profile, options).status()
                            : problem.status();
      },
      [] {});
}

}  // namespace

std::string HostRowName(absl::string_view what, const BenchShape& shape) {
  return absl::StrCat("host/", what, "/", ShapeName(shape));
}

Row TimeOnHost(const std::string& name,
               const std::function<absl::Status()>& call,
               const std::function<void()>& settle) {
  using Clock = std::chrono::steady_clock;
  Row row;
  row.name = name;
  std::vector<double> times_us;
  // The first group loads code and memory.
  for (int group = -1; group < kGroups; ++group) {
    for (int i = 0; i < kCallsPerGroup; ++i) {
      const auto begin = Clock::now();
      const absl::Status status = call();
      const std::chrono::duration<double, std::micro> elapsed =
          Clock::now() - begin;
      if (!status.ok()) {
        row.error = status.ToString();
        return row;
      }
      if (group >= 0) times_us.push_back(elapsed.count());
    }
    settle();
  }
  row.time_us = MedianOf(std::move(times_us));
  return row;
}

std::vector<HostRow> PlanRows(const DeviceProfile& profile) {
  std::vector<HostRow> rows;
  for (const BenchShape& shape : HostShapes()) {
    rows.push_back({HostRowName("make_plan", shape),
                    [shape, profile] { return MeasurePlan(shape, profile); }});
  }
  return rows;
}

}  // namespace paged::benchmarks
