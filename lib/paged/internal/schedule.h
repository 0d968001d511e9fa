// Schedules seen from a plan: how large they are, what they are made from, and
// which plan may read which.
#ifndef PAGED_LIB_PAGED_INTERNAL_SCHEDULE_H_
#define PAGED_LIB_PAGED_INTERNAL_SCHEDULE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/core/schedule.h"
#include "paged/backend.h"
#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged::internal {

// Items of a plan, apart from its row tiles: sequences, splits of them, or as
// many chunks as a schedule may have.
int64_t MaxItems(const DecodePlan& plan);

// Bytes of the plan's schedule: 0 but for the partition chunks.
std::size_t ScheduleBytes(const DecodePlan& plan);

// A schedule in `data`.
ScheduleView ViewOf(void* data);

// How to make the plan's schedule of these lengths in `data`.
ScheduleParams ScheduleParamsOf(const DecodePlan& plan,
                                const int32_t* context_lens, void* data);

// InvalidArgument for a plan whose partition is not chunks.
absl::Status CheckHasSchedule(const DecodePlan& plan);

// Whether a run of the plan may read the schedule, or go without; errors as
// Backend::Run.
absl::Status CheckSchedule(const DecodePlan& plan, const Schedule* schedule);

// How to make the schedule of these lengths; sets schedule.made_for. Errors as
// Backend::MakeSchedule.
absl::StatusOr<ScheduleParams> LowerSchedule(const DecodePlan& plan,
                                             const int32_t* context_lens,
                                             const DeviceProfile& profile,
                                             Schedule& schedule);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_SCHEDULE_H_
