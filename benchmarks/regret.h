// What the dispatcher's choice costs against the best that could be forced.
#ifndef PAGED_BENCHMARKS_REGRET_H_
#define PAGED_BENCHMARKS_REGRET_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/regret_shapes.h"
#include "paged/plan.h"

namespace paged::benchmarks {

// What the dispatcher is held to, over all shapes.
inline constexpr double kMedianRegret = 1.01;
inline constexpr double kWorstRegret = 1.08;

// A plan and its time, cold.
struct TimedPlan {
  DecodePlan plan;
  double time_us = 0;
};

struct RegretRow {
  RegretShape shape;
  TimedPlan automatic;
  // Of each variant and split count that was forced, and of the schedule where
  // the batch is ragged; the planner chooses the rest.
  std::vector<TimedPlan> forced;

  const TimedPlan& best() const;  // the automatic one included
  double regret() const;          // automatic over best, at least 1
};

// Measures the shapes one after another and hands each row over. Errors as
// MakeCudaBackend, and what keeps a shape from being measured.
absl::Status MeasureRegret(
    const std::vector<RegretShape>& shapes,
    absl::FunctionRef<void(const RegretRow& row)> report);

// Provenance of a record, as in the rows of decode_benchmark.
struct RegretContext {
  std::string device, driver, commit, kernels_core, kernels_cuda, command;
};

// The record as JSON: context, shapes, median and worst.
std::string RegretJson(const RegretContext& context,
                       const std::vector<RegretRow>& rows);

// Of the recorded times, what the plans that MakePlan makes today would cost.
struct ReplayedRegret {
  std::string name;
  // Empty, or why the record cannot tell: today's plan was not measured.
  std::string problem;
  double regret = 0;
};

// InvalidArgument for a text that is no such record.
absl::StatusOr<std::vector<ReplayedRegret>> ReplayRegret(
    const std::string& json, const DeviceProfile& profile);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_REGRET_H_
