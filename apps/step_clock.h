// The clock of a trace, and the stages that the host goes through.
#ifndef PAGED_APPS_STEP_CLOCK_H_
#define PAGED_APPS_STEP_CLOCK_H_

#include <chrono>
#include <utility>
#include <vector>

#include "apps/step_trace.h"

namespace paged {

class StepClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  double At(Time time) const {
    return std::chrono::duration<double, std::micro>(time - start_).count();
  }
  double Now() const { return At(std::chrono::steady_clock::now()); }

  // Runs a stage and notes it.
  template <typename Stage>
  auto Run(const char* name, std::vector<NamedSpan>& stages,
           const Stage& stage) const {
    const double begin_us = Now();
    auto result = stage();
    stages.push_back({name, {begin_us, Now()}});
    return result;
  }

 private:
  Time start_ = std::chrono::steady_clock::now();
};

// The step of each tier on one device, all on one clock.
absl::StatusOr<std::vector<StepTrace>> TraceOnCpu(
    const ShapeRequest& shape, const std::vector<PointTier>& tiers,
    int num_threads);
absl::StatusOr<std::vector<StepTrace>> TraceOnCuda(
    const ShapeRequest& shape, const std::vector<PointTier>& tiers);

}  // namespace paged

#endif  // PAGED_APPS_STEP_CLOCK_H_
