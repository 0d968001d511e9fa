// What goes into a BlockManager and what comes out of it, as plain values.
//
// Example:
//
//     // A request for 100 tokens, and room for 4 draft tokens after them.
//     paged::SequenceRequest request{.num_tokens = 100, .lookahead_tokens = 4};
//     CHECK(request.prefix.digests.empty());
//
//     // No handle is valid before a manager has made it.
//     CHECK_EQ(paged::SequenceHandle{}.generation, 0u);
#ifndef PAGED_LIB_PAGED_BLOCK_MANAGER_TYPES_H_
#define PAGED_LIB_PAGED_BLOCK_MANAGER_TYPES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "paged/block_digest.h"

namespace paged {

// Names an open sequence, stream or pin of one manager. A handle that was
// released, or that another manager made, is refused.
struct SequenceHandle {
  uint32_t slot = 0;        // the row of the block table on the device
  uint64_t generation = 0;  // no two openings, of any manager, have the same
  friend bool operator==(const SequenceHandle&,
                         const SequenceHandle&) = default;
};

// When a block that was given back may be handed out again.
enum class ReusePolicy {
  // At once: all device work runs in the order of submission, on one stream.
  kSubmissionOrder,
  // After every step that was submitted by then has retired: for steps on
  // several streams, and staging memory that others read.
  kAfterRetire,
};

// Which events are recorded.
enum class EventDetail {
  kContent,  // what the prefix cache holds, forks and copies
  kRows,     // also each block of each row, for a replay (block_events.h)
};

struct BlockManagerOptions {
  int64_t num_blocks = 0;  // of the pool, with block 0, which nobody owns
  int block_size = 16;     // tokens
  int max_seqs = 256;      // sequences, streams and pins open at once
  int max_blocks_per_seq = 1024;  // columns of the block table
  int64_t watermark_blocks = 0;   // that CanAdmit leaves for running sequences
  int max_steps_in_flight = 3;    // submitted, not retired
  ReusePolicy reuse = ReusePolicy::kSubmissionOrder;
  // Compare tokens, not digests alone: for those who do not trust SHA-256.
  // Costs 4 * block_size + 16 bytes per block.
  bool verify_tokens = false;
  int max_events = 0;  // kept until they are taken; 0 records none
  EventDetail event_detail = EventDetail::kContent;
};

// The full blocks at the beginning of a prompt, as keys of the prefix cache.
struct Prefix {
  absl::Span<const BlockDigest> digests = {};
  // Read only with verify_tokens: at least digests.size() * block_size.
  absl::Span<const int32_t> tokens = {};
};

struct SequenceRequest {
  int64_t num_tokens = 0;
  Prefix prefix = {};
  int64_t lookahead_tokens = 0;  // counted by Probe and CanAdmit, not taken
};

struct OpenedSequence {
  SequenceHandle handle;
  int64_t cached_tokens = 0;  // that need not be computed; a multiple of
                              // block_size, below num_tokens
};

struct PinnedPrefix {
  SequenceHandle handle;
  int64_t num_tokens = 0;
};

// An endless sequence of which each token sees the first `sink` tokens and the
// last `window`, itself included.
struct StreamRequest {
  int64_t window = 0;
  int64_t sink = 0;
  int64_t max_chunk = 0;  // tokens per append
};

// What opening a request would do.
struct Admission {
  int64_t cached_blocks = 0;     // found in the prefix cache
  int64_t new_blocks = 0;        // to be taken, lookahead included
  int64_t available_blocks = 0;  // once the cached ones are reserved
  bool fits = false;             // Open, and then Append(lookahead), succeed
};

// To be copied, whole, before the step writes anything.
struct BlockCopy {
  int32_t source = 0;
  int32_t destination = 0;
  friend bool operator==(const BlockCopy&, const BlockCopy&) = default;
};

// An entry of the block table [max_seqs, max_blocks_per_seq] that changed.
struct TableChange {
  uint32_t index = 0;  // row * max_blocks_per_seq + column
  int32_t block = 0;
};

struct SubmittedStep {
  uint64_t id = 0;
  absl::Span<const BlockCopy> copies;  // until the step retires
};

enum class BlockEventKind {
  kStored,   // `block` entered the prefix cache under `digest`
  kEvicted,  // and left it, to be reused
  kForked,   // row `slot` from row `block`
  kCopied,   // `block` to `other`, for row `slot`
  kCleared,  // the whole prefix cache
  // With EventDetail::kRows:
  kOpened,   // row `slot`; `block` blocks were looked for, `other` found
  kTaken,    // `block` is now in row `slot`, new or found
  kRemoved,  // and is not any more
  kClosed,   // row `slot`
  kLength,   // the sequence of row `slot` has `number` tokens
  kStep,     // step `number` was submitted
};

// Fields that a kind does not name are 0.
struct BlockEvent {
  BlockEventKind kind = BlockEventKind::kStored;
  uint32_t slot = 0;
  int32_t block = 0;
  int32_t other = 0;
  int64_t number = 0;
  BlockDigest digest = {};
};

// Blocks by place: these six sum to the pool, with the null block. Then totals
// since the manager was made.
struct BlockStatistics {
  int64_t num_blocks = 0;
  int64_t used = 0;         // held by sequences, pins and pending copies
  int64_t cached = 0;       // held by none, kept for the prefix cache
  int64_t free = 0;         // without content
  int64_t quarantined = 0;  // given back, a step still in flight
  int64_t reserved = 0;     // of streams, not reached yet

  int64_t indexed = 0;       // findable by the prefix cache, in any place
  int64_t pinned = 0;        // columns of pins
  int64_t open = 0;          // sequences, streams and pins
  int64_t wasted_slots = 0;  // of last blocks of sequences, not used yet
  double fragmentation = 0;  // wasted_slots among all slots of sequences

  int64_t lookups = 0;  // blocks that were looked for
  int64_t hits = 0;     // and found
  int64_t evictions = 0;
  int64_t copies = 0;
  int64_t dropped_events = 0;
  double hit_rate = 0;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_BLOCK_MANAGER_TYPES_H_
