#include "paged/internal/schedule.h"

#include "absl/strings/str_cat.h"
#include "kernels/core/hash.h"
#include "paged/internal/run_checks.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

uint64_t FingerprintOfSchedule(const DecodePlan& plan) {
  uint64_t hash = plan.device_fingerprint;
  for (int field : {plan.shape.num_seqs, plan.shape.max_context_len,
                    plan.chunking.first_rung, plan.chunking.max_extra_chunks}) {
    hash = Mix(hash ^ static_cast<uint64_t>(field));
  }
  return hash;
}

}  // namespace

int64_t MaxItems(const DecodePlan& plan) {
  return int64_t{plan.shape.num_seqs} * plan.num_splits +
         plan.chunking.max_extra_chunks;
}

std::size_t ScheduleBytes(const DecodePlan& plan) {
  if (plan.partition != Partition::kChunks) return 0;
  return sizeof(ScheduleHeader) +
         static_cast<std::size_t>(MaxItems(plan)) * sizeof(Chunk);
}

ScheduleView ViewOf(void* data) {
  auto* header = static_cast<ScheduleHeader*>(data);
  return {header, reinterpret_cast<Chunk*>(header + 1)};
}

ScheduleParams ScheduleParamsOf(const DecodePlan& plan,
                                const int32_t* context_lens, void* data) {
  return {.context_lens = context_lens,
          .num_seqs = plan.shape.num_seqs,
          .max_context_len = plan.shape.max_context_len,
          .first_rung = plan.chunking.first_rung,
          .max_chunks = static_cast<int>(MaxItems(plan)),
          .schedule = ViewOf(data)};
}

absl::Status CheckSchedule(const DecodePlan& plan, const Schedule* schedule) {
  if (schedule == nullptr) return absl::OkStatus();
  if (plan.partition != Partition::kChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("schedule must be null for a plan of the partition ",
                     NameOf(plan.partition)));
  }
  if (schedule->data == nullptr ||
      schedule->made_for != FingerprintOfSchedule(plan)) {
    return absl::FailedPreconditionError(
        "schedule must be made (Backend::MakeSchedule) for a plan of this "
        "num_seqs, max_context_len and chunking");
  }
  return absl::OkStatus();
}

absl::StatusOr<ScheduleParams> LowerSchedule(const DecodePlan& plan,
                                             const int32_t* context_lens,
                                             const DeviceProfile& profile,
                                             Schedule& schedule) {
  PAGED_RETURN_IF_ERROR(CheckPlanDevice(plan, profile));
  if (plan.partition != Partition::kChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan.partition must be chunks to have a schedule; got ",
                     NameOf(plan.partition)));
  }
  if (context_lens == nullptr && plan.shape.num_seqs > 0) {
    return absl::InvalidArgumentError("context_lens must not be null");
  }
  PAGED_RETURN_IF_ERROR(
      CheckAligned("context_lens", context_lens, sizeof(int32_t)));
  PAGED_RETURN_IF_ERROR(CheckMemory("schedule", plan.schedule_bytes,
                                    schedule.data, schedule.bytes,
                                    profile.kind));
  schedule.made_for = FingerprintOfSchedule(plan);
  return ScheduleParamsOf(plan, context_lens, schedule.data);
}

}  // namespace paged::internal
