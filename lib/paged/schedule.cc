#include "paged/internal/schedule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/core/hash.h"
#include "paged/internal/run_checks.h"
#include "paged/internal/status_macros.h"
#include "paged/schedule.h"

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

absl::Status CheckHasSchedule(const DecodePlan& plan) {
  if (plan.partition == Partition::kChunks) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("plan.partition must be chunks to have a schedule; got ",
                   NameOf(plan.partition)));
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
  PAGED_RETURN_IF_ERROR(CheckHasSchedule(plan));
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

namespace paged {

absl::StatusOr<std::vector<ScheduledChunk>> ListChunks(
    const DecodePlan& plan, absl::Span<const int32_t> context_lens) {
  PAGED_RETURN_IF_ERROR(internal::CheckHasSchedule(plan));
  if (context_lens.size() != static_cast<std::size_t>(plan.shape.num_seqs)) {
    return absl::InvalidArgumentError(
        absl::StrCat("context_lens must have num_seqs lengths; got ",
                     context_lens.size(), " and ", plan.shape.num_seqs));
  }
  ScheduleHeader header = {};
  std::vector<Chunk> chunks(static_cast<std::size_t>(internal::MaxItems(plan)));
  ScheduleParams params =
      internal::ScheduleParamsOf(plan, context_lens.data(), nullptr);
  params.schedule = {&header, chunks.data()};
  MakeSchedule(params);

  std::vector<ScheduledChunk> result;
  for (int i = 0; i < header.num_chunks; ++i) {
    const Chunk& chunk = chunks[static_cast<std::size_t>(i)];
    // In 64 bits: the last tile of the longest context ends past 2^31.
    const int64_t end = int64_t{chunk.last_tile} * kTileTokens;
    result.push_back({.seq = chunk.seq,
                      .first_token = chunk.first_tile * kTileTokens,
                      .last_token = static_cast<int>(
                          std::min<int64_t>(end, chunk.context_len)),
                      .rank = chunk.rank,
                      .num_chunks = chunk.num_chunks});
  }
  return result;
}

}  // namespace paged
