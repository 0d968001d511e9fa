// Decides which block of the KV pool belongs to whom, and builds block tables.
//
// Example:
//
//     auto manager = paged::BlockManager::Create({.num_blocks = 256,
//                                                 .block_size = 4,
//                                                 .max_seqs = 8,
//                                                 .max_blocks_per_seq = 200});
//     CHECK_OK(manager);
//
//     // A prompt of 9 tokens; the step that computes it; its full blocks enter
//     // the prefix cache.
//     std::vector<int32_t> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
//     auto digests = paged::DigestPrompt({.salt = "me"}, prompt, 4);
//     auto first = manager->Open({.num_tokens = 9, .prefix = {digests}});
//     CHECK_OK(first);
//     auto step = manager->SubmitStep();
//     CHECK_OK(step);
//     CHECK_OK(manager->RetireStep(step->id));
//     CHECK_OK(manager->Commit(first->handle, 9, {digests}));
//
//     // The same prompt again finds them.
//     auto second = manager->Open({.num_tokens = 9, .prefix = {digests}});
//     CHECK_EQ(second->cached_tokens, 8);
//     // A system prompt stays in the cache, whoever comes and goes.
//     auto pinned = manager->Pin({digests});
//     CHECK_OK(pinned);
//     CHECK_EQ(pinned->num_tokens, 8);
//
//     // A decode loop: a slot for the next token before each step.
//     std::vector<paged::SequenceHandle> batch = {first->handle,
//                                                 second->handle};
//     std::vector<int32_t> table(2 * 16), lens(2);
//     for (int i = 0; i < 5; ++i) {
//       for (paged::SequenceHandle sequence : batch) {
//         CHECK_OK(manager->Append(sequence, 1));
//       }
//       CHECK_OK(manager->DenseTable(batch, 16, absl::MakeSpan(table)));
//       CHECK_OK(manager->ContextLens(batch, absl::MakeSpan(lens)));
//       auto decode = manager->SubmitStep();  // copy decode->copies, then run
//       CHECK_OK(manager->RetireStep(decode->id));
//     }
//     CHECK_EQ(lens[1], 14);
//     CHECK_EQ(table[0], table[16]);  // the shared prefix
//
//     // Draft tokens: two of three are rejected.
//     CHECK_OK(manager->Append(first->handle, 3));
//     CHECK_OK(manager->RollbackTo(first->handle, 15));
//
//     // A second continuation of the same tokens. Its last block is copied
//     // before either writes it.
//     auto beam = manager->Fork(second->handle);
//     CHECK_OK(beam);
//     CHECK_OK(manager->Append(*beam, 1));
//     CHECK_EQ(manager->copies().size(), 1u);
//     CHECK_OK(manager->Release(*beam));
//
//     // A sliding window of 4 tokens: blocks 0 and 1 are given back.
//     CHECK_OK(manager->Slide(second->handle, 4, 0));
//     CHECK_EQ((*manager->Row(second->handle))[1], 0);
//
//     // Speech: up to 13 tokens each 80 ms, for ever, in 193 blocks.
//     auto stream = manager->OpenStream({.window = 750, .sink = 4,
//                                        .max_chunk = 13});
//     CHECK_OK(stream);
//     for (int tick = 0; tick < 1000; ++tick) {
//       CHECK_OK(manager->Append(*stream, 1 + tick % 13));
//     }
//     CHECK_OK(manager->Release(*stream));
//
//     CHECK_OK(manager->Release(first->handle));
//     CHECK_OK(manager->Release(second->handle));
//     CHECK_OK(manager->Unpin(pinned->handle));
//     auto last = manager->SubmitStep();  // the beam's copy is still pending
//     CHECK_OK(manager->RetireStep(last->id));
//     CHECK_EQ(manager->Statistics().used, 0);
#ifndef PAGED_LIB_PAGED_BLOCK_MANAGER_H_
#define PAGED_LIB_PAGED_BLOCK_MANAGER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "paged/block_digest.h"
#include "paged/block_manager_types.h"

namespace paged {

namespace internal {
struct BlockManagerState;
struct BlockManagerAccess;
}  // namespace internal

// One owner thread; no locks. A call that fails changes nothing. All memory is
// taken by Create: afterwards only messages of errors, and Audit, allocate.
//
// Errors of all calls with a handle: NotFound if it was released, or made by
// another manager; FailedPrecondition if what it names cannot do this.
class BlockManager {
 public:
  using Handles = absl::Span<const SequenceHandle>;

  // InvalidArgument for an option out of range; ResourceExhausted if there is
  // no memory for the books, about 70 bytes per block.
  static absl::StatusOr<BlockManager> Create(
      const BlockManagerOptions& options);
  BlockManager(BlockManager&&) noexcept;
  BlockManager& operator=(BlockManager&&) noexcept;
  ~BlockManager();

  const BlockManagerOptions& options() const;

  // --- Admission: InvalidArgument for what no pool of this size can hold.

  absl::StatusOr<Admission> Probe(const SequenceRequest& request) const;
  // True if Open, and then Append(lookahead_tokens), succeed and leave
  // watermark_blocks.
  bool CanAdmit(const SequenceRequest& request) const;
  bool CanAppend(SequenceHandle handle, int64_t num_tokens) const;

  // --- Sequences

  // A sequence of num_tokens, at least 1, of which the first cached_tokens are
  // read from the prefix cache. InvalidArgument, or ResourceExhausted if too
  // few blocks are available or max_seqs are open.
  absl::StatusOr<OpenedSequence> Open(const SequenceRequest& request);

  // Gives the next num_tokens tokens their slots. A last block that others hold
  // too is first copied: see SubmitStep. ResourceExhausted if too few blocks
  // are available; OutOfRange past the row; InvalidArgument for a count below 1
  // or, of streams, above max_chunk; FailedPrecondition if the block to be
  // copied is written by the step being built: submit that first.
  absl::Status Append(SequenceHandle handle, int64_t num_tokens);

  // Another sequence with the same tokens, which shares all blocks.
  // ResourceExhausted if max_seqs are open.
  absl::StatusOr<SequenceHandle> Fork(SequenceHandle handle);

  // Drops rejected draft tokens. OutOfRange above the length, below what Commit
  // named as computed, or, of streams, where the ring has been overwritten.
  absl::Status RollbackTo(SequenceHandle handle, int64_t length);
  // Drops tokens whether computed or not. OutOfRange above the length or below
  // what Slide gave back.
  absl::Status TrimTo(SequenceHandle handle, int64_t length);

  // Gives back the blocks that no later token sees, each of which sees `sink`
  // first tokens and `window` last ones, itself included. Their columns become
  // the null block, so that a column is always position / block_size.
  absl::Status Slide(SequenceHandle handle, int64_t window, int64_t sink);

  // Closes a sequence or stream. Returns how many blocks became available now:
  // shared and quarantined ones do not.
  absl::StatusOr<int64_t> Release(SequenceHandle handle);

  absl::StatusOr<int64_t> Length(SequenceHandle handle) const;
  // Where the token at `position` lies in the pool: block * block_size + slot.
  // OutOfRange past the length, or where it was given back.
  absl::StatusOr<int64_t> SlotOf(SequenceHandle handle, int64_t position) const;
  absl::StatusOr<absl::Span<const int32_t>> Row(SequenceHandle handle) const;

  // --- Streams

  // Takes ceil(sink / B) + ceil((window - 1 + max_chunk + B - 1) / B) blocks,
  // after which an append of up to max_chunk tokens cannot fail. The row is the
  // sinks' columns and then a ring: its entries never change. A stream cannot
  // be forked, slid or committed.
  absl::StatusOr<SequenceHandle> OpenStream(const StreamRequest& request);

  // --- The prefix cache

  // Says that the first num_computed tokens have been computed (their step has
  // retired, or whatever reads them runs after it), and publishes the full
  // blocks among them that `prefix` names. Draft tokens are never committed.
  // OutOfRange above the length or below an earlier call.
  absl::Status Commit(SequenceHandle handle, int64_t num_computed,
                      const Prefix& prefix);
  // Keeps the cached blocks of a prefix from eviction. NotFound if not even
  // the first is cached.
  absl::StatusOr<PinnedPrefix> Pin(const Prefix& prefix);
  absl::Status Unpin(SequenceHandle handle);
  // Forgets all cached content, as after a change of weights. What is open
  // stays, and publishes nothing any more.
  void ResetCache();

  // --- Steps. Views and copies belong to the step being built. A token's keys
  // and values are written by the step that appended it.

  absl::Span<const BlockCopy> copies() const;  // of the step being built
  // Ends the step being built. Blocks to be copied are kept until it retires.
  // ResourceExhausted if max_steps_in_flight are in flight.
  absl::StatusOr<SubmittedStep> SubmitStep();
  // Says that the device is done with this step and all before it. OutOfRange
  // if it was not submitted, or retired before.
  absl::Status RetireStep(uint64_t id);

  // Writes changed entries of the block table, as many as fit, and returns how
  // many; the rest comes with the next call.
  std::size_t TakeTableChanges(absl::Span<TableChange> changes);

  // --- Views, rows in the order of `handles`. InvalidArgument if `out` is too
  // small or a row too long.

  // [handles.size(), width], padded with the null block.
  absl::Status DenseTable(Handles handles, int width,
                          absl::Span<int32_t> out) const;
  // A stream's is the length of its row as CsrTable lists it.
  absl::Status ContextLens(Handles handles, absl::Span<int32_t> out) const;
  // indptr [handles.size() + 1], last_block_lens [handles.size()]: 1 to
  // block_size tokens, or 0 of a row without any. Streams list their sinks,
  // then what their last chunk sees, oldest first. Returns indptr's last.
  absl::StatusOr<int64_t> CsrTable(Handles handles, absl::Span<int32_t> indptr,
                                   absl::Span<int32_t> indices,
                                   absl::Span<int32_t> last_block_lens) const;
  // How many leading columns are the same full block in all rows.
  absl::StatusOr<int64_t> CommonPrefixBlocks(Handles handles) const;

  // --- Watching

  BlockStatistics Statistics() const;  // costs max_seqs
  std::size_t TakeEvents(absl::Span<BlockEvent> events);
  // Checks every invariant; Internal with the first that is broken. Costs the
  // pool and the rows, and allocates.
  absl::Status Audit() const;

 private:
  friend struct internal::BlockManagerAccess;
  explicit BlockManager(std::unique_ptr<internal::BlockManagerState> state);
  std::unique_ptr<internal::BlockManagerState> state_;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_BLOCK_MANAGER_H_
