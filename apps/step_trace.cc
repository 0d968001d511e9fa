#include "apps/step_trace.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "apps/step_clock.h"
#include "paged/cuda_backend.h"
#include "paged/internal/status_macros.h"

namespace paged {

TimeSpan StepTrace::device_span() const {
  if (programs.empty()) return {};
  TimeSpan span = programs.front().span;
  for (const ProgramSpan& program : programs) {
    span.begin_us = std::min(span.begin_us, program.span.begin_us);
    span.end_us = std::max(span.end_us, program.span.end_us);
  }
  return span;
}

int StepTrace::num_busy_units() const {
  std::set<int> units;
  for (const ProgramSpan& program : programs) units.insert(program.unit);
  return static_cast<int>(units.size());
}

double StepTrace::busy_share() const {
  const double total_us = device_span().length_us() * profile.num_units;
  if (total_us <= 0) return 0;
  // Programs of one unit overlap on a GPU: their union counts.
  std::vector<std::vector<TimeSpan>> units(
      static_cast<std::size_t>(profile.num_units));
  for (const ProgramSpan& program : programs) {
    units.at(static_cast<std::size_t>(program.unit)).push_back(program.span);
  }
  double busy_us = 0;
  for (std::vector<TimeSpan>& spans : units) {
    std::sort(spans.begin(), spans.end(),
              [](const TimeSpan& a, const TimeSpan& b) {
                return a.begin_us < b.begin_us;
              });
    double end_us = -1;
    for (const TimeSpan& span : spans) {
      busy_us += std::max(0.0, span.end_us - std::max(span.begin_us, end_us));
      end_us = std::max(end_us, span.end_us);
    }
  }
  return busy_us / total_us;
}

std::string SummaryOf(const StepTrace& step) {
  const char* units = step.profile.kind == DeviceKind::kCpu ? "threads" : "SMs";
  if (step.programs.empty()) {
    return absl::StrFormat("%s: %s", NameOf(step.plan.variant), step.note);
  }
  return absl::StrFormat(
      "%s, %d %s: %d programs in %.1f us on %d of %d %s, which are busy for "
      "%.0f %% of the time",
      NameOf(step.plan.variant), step.plan.num_splits,
      step.plan.num_splits == 1 ? "split" : "splits", step.programs.size(),
      step.device_span().length_us(), step.num_busy_units(),
      step.profile.num_units, units, 100 * step.busy_share());
}

absl::StatusOr<std::vector<StepTrace>> TraceSteps(
    const ShapeRequest& shape, const std::vector<PointTier>& tiers,
    BackendChoice choice, int num_threads) {
  if (choice != BackendChoice::kCpu) {
    const absl::Status cuda = MakeCudaBackend().status();
    if (cuda.ok()) return TraceOnCuda(shape, tiers);
    std::string note;
    PAGED_RETURN_IF_ERROR(NoCuda(choice, cuda, note));
  }
  return TraceOnCpu(shape, tiers, num_threads);
}

}  // namespace paged
