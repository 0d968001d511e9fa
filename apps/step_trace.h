// One decode step, watched: what the host did when, and which unit of the
// device (SM or thread) ran which program when.
#ifndef PAGED_APPS_STEP_TRACE_H_
#define PAGED_APPS_STEP_TRACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/decode_flags.h"
#include "apps/point_measurer.h"
#include "apps/shape_flags.h"
#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged {

// Microseconds from the start of the trace.
struct TimeSpan {
  double begin_us = 0;
  double end_us = 0;
  double length_us() const { return end_us - begin_us; }
};

struct NamedSpan {
  std::string name;
  TimeSpan span;
};

struct ProgramSpan {
  int unit = 0;  // SM or thread
  bool is_reduction = false;
  int seq = 0;
  int first_kv_head = 0;
  int num_kv_heads = 1;
  int split = 0;
  TimeSpan span;
};

struct StepTrace {
  DeviceProfile profile;
  DecodePlan plan;
  std::vector<NamedSpan> stages;   // of the host, in order
  std::vector<NamedSpan> kernels;  // of the device, in order
  std::vector<ProgramSpan> programs;
  // Why programs are missing, or what their times are worth; may be empty.
  std::string note;

  // From the first program's start to the last one's end.
  TimeSpan device_span() const;
  // Units that ran any program, and the share of all units' time that programs
  // took.
  int num_busy_units() const;
  double busy_share() const;
};

// One sentence: how many units worked, and for how much of the time.
std::string SummaryOf(const StepTrace& step);

// Runs the shape once for each tier, after runs that load and warm, and watches
// that one. Unavailable when CUDA was demanded and there is none; errors of
// planning and running.
absl::StatusOr<std::vector<StepTrace>> TraceSteps(
    const ShapeRequest& shape, const std::vector<PointTier>& tiers,
    BackendChoice choice, int num_threads);

}  // namespace paged

#endif  // PAGED_APPS_STEP_TRACE_H_
