// A ragged batch cut into chunks, to look at: what Backend::MakeSchedule would
// make of these lengths.
//
// Example:
//
//     paged::DecodeShape shape{.num_seqs = 64,
//                              .num_q_heads = 32,
//                              .num_kv_heads = 8,
//                              .head_dim = 128,
//                              .num_blocks = 64 * 8192,
//                              .max_blocks_per_seq = 8192,
//                              .max_context_len = 131072,
//                              .expected_context_len = 3000,
//                              .lengths = paged::LengthSpread::kRagged};
//     paged::DecodePlan plan =
//         paged::MakePlan(paged::ValidateShape(shape).value(),
//                         paged::H200Profile(), {}).value();
//     std::vector<int32_t> context_lens(64, 1024);
//     context_lens[37] = 131072;
//     std::vector<paged::ScheduledChunk> chunks =
//         paged::ListChunks(plan, context_lens).value();
//     CHECK_GT(chunks.size(), 64u);  // one per sequence, more of the long one
#ifndef PAGED_LIB_PAGED_SCHEDULE_H_
#define PAGED_LIB_PAGED_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "paged/plan.h"

namespace paged {

// Tokens [first_token, last_token) of a sequence, the `rank`-th of its
// `num_chunks`.
struct ScheduledChunk {
  int seq = 0;
  int first_token = 0;
  int last_token = 0;
  int rank = 0;
  int num_chunks = 1;
  friend bool operator==(const ScheduledChunk&,
                         const ScheduledChunk&) = default;
};

// In the order in which they start, the largest first. InvalidArgument for a
// plan whose partition is not chunks, and for other than num_seqs lengths.
absl::StatusOr<std::vector<ScheduledChunk>> ListChunks(
    const DecodePlan& plan, absl::Span<const int32_t> context_lens);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_SCHEDULE_H_
