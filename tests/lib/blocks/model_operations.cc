// The operations of the walk: each predicts, calls, and compares.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/lib/blocks/model_walk.h"

namespace paged::testing {

void ModelWalk::Open() {
  auto sequence = std::make_unique<Sequence>();
  // Collisions are told apart by tokens, which know of no domain.
  sequence->domain = options_.digest_bits < 256 ? 0 : Random(8) == 0;
  sequence->queue = static_cast<int>(Random(FakeDevice::kNumQueues));
  const auto longest = static_cast<uint64_t>(options_.longest_prompt);
  const uint64_t num_tokens = 1 + Random(longest);
  // Few tokens, mostly zeros, so that prefixes meet.
  for (uint64_t i = 0; i < num_tokens; ++i) {
    AddToken(*sequence, Random(longest) == 0);
  }
  const SequenceRequest request{
      .num_tokens = sequence->length(),
      .prefix = PrefixOf(*sequence),
      .lookahead_tokens = static_cast<int64_t>(Random(4))};
  const bool admitted = manager_->CanAdmit(request);
  const absl::StatusOr<Admission> probe = manager_->Probe(request);
  int64_t predicted_hits = 0;
  std::optional<bool> predicted;
  if (naive_ != nullptr) {
    predicted =
        naive_->Open(*sequence, request.lookahead_tokens, &predicted_hits);
  }
  absl::StatusOr<OpenedSequence> opened;
  if (!Agree("Open", predicted, [&] {
        opened = manager_->Open(request);
        return opened.status();
      })) {
    if (admitted) Fail("CanAdmit promised what Open refused");
    return;
  }
  const int64_t hits = opened->cached_tokens / options_.manager.block_size;
  if ((naive_ != nullptr && hits != predicted_hits) ||
      (probe.ok() && probe->cached_blocks != hits)) {
    Fail(absl::StrCat("hits are ", hits, "; predicted ", predicted_hits));
  }
  if (admitted && request.lookahead_tokens > 0 &&
      !manager_->CanAppend(opened->handle, request.lookahead_tokens)) {
    Fail("CanAdmit promised a lookahead that does not fit");
  }
  num_hits_ += hits;
  sequence->handle = opened->handle;
  sequence->computed = sequence->written = sequence->finished =
      opened->cached_tokens;
  CompareRow(*sequence);
  open_.push_back(std::move(sequence));
}

void ModelWalk::OpenStream() {
  auto stream = std::make_unique<Sequence>();
  stream->kind = Kind::kStream;
  stream->queue = static_cast<int>(Random(FakeDevice::kNumQueues));
  stream->stream = {.window = 1 + static_cast<int64_t>(Random(9)),
                    .sink = static_cast<int64_t>(Random(5)),
                    .max_chunk = 1 + static_cast<int64_t>(Random(4))};
  std::optional<bool> predicted;
  if (naive_ != nullptr) predicted = naive_->OpenStream(*stream);
  absl::StatusOr<SequenceHandle> handle;
  if (!Agree("OpenStream", predicted, [&] {
        handle = manager_->OpenStream(stream->stream);
        return handle.status();
      })) {
    return;
  }
  stream->handle = *handle;
  CompareRow(*stream);
  open_.push_back(std::move(stream));
}

void ModelWalk::Append() {
  Sequence* sequence = Pick(Random(8) == 0 ? Kind::kStream : Kind::kSequence);
  if (sequence == nullptr) return;
  const bool is_stream = sequence->kind == Kind::kStream;
  // A stream's tokens of one step must be one chunk: its window is that of the
  // last.
  if (is_stream && sequence->written < sequence->length()) return;
  const int64_t num_tokens =
      1 + static_cast<int64_t>(
              Random(is_stream || Random(8) != 0
                         ? 4
                         : static_cast<uint64_t>(options_.longest_prompt)));
  const bool can = manager_->CanAppend(sequence->handle, num_tokens);
  std::optional<bool> predicted;
  if (naive_ != nullptr) predicted = naive_->Append(*sequence, num_tokens);
  const bool ok = Agree("Append", predicted, [&] {
    return manager_->Append(sequence->handle, num_tokens);
  });
  if (can != ok) Fail("CanAppend and Append disagree");
  while (queue_of_copy_.size() < manager_->copies().size()) {
    queue_of_copy_.push_back(sequence->queue);
    ++num_copies_;
  }
  if (ok) {
    if (is_stream) {
      sequence->chunk_begin = sequence->length();
      sequence->high_water =
          std::max(sequence->high_water, sequence->length() + num_tokens);
    }
    for (int64_t i = 0; i < num_tokens; ++i) {
      AddToken(*sequence, Random(4) == 0);
    }
  }
  CompareRow(*sequence);
}

void ModelWalk::Fork() {
  Sequence* parent = Pick(Kind::kSequence);
  if (parent == nullptr) return;
  auto child = std::make_unique<Sequence>();
  std::optional<bool> predicted;
  if (naive_ != nullptr) predicted = naive_->Fork(*parent, *child);
  absl::StatusOr<SequenceHandle> handle;
  if (!Agree("Fork", predicted, [&] {
        handle = manager_->Fork(parent->handle);
        return handle.status();
      })) {
    return;
  }
  if (naive_ == nullptr) *child = *parent;
  child->handle = *handle;
  CompareRow(*child);
  open_.push_back(std::move(child));
}

void ModelWalk::Cut() {
  Sequence* sequence = Pick(Random(4) == 0 ? Kind::kStream : Kind::kSequence);
  if (sequence == nullptr) return;
  const bool is_stream = sequence->kind == Kind::kStream;
  const auto length = static_cast<int64_t>(
      Random(static_cast<uint64_t>(sequence->length()) + 2));
  const bool trims = !is_stream && Random(3) == 0;
  std::optional<bool> predicted;
  if (naive_ != nullptr) {
    predicted = length <= sequence->length() &&
                (is_stream ? naive_->RollbackStream(*sequence, length)
                           : naive_->Cut(*sequence, length,
                                         trims ? 0 : sequence->computed));
  }
  if (Agree("Cut", predicted, [&] {
        return trims ? manager_->TrimTo(sequence->handle, length)
                     : manager_->RollbackTo(sequence->handle, length);
      })) {
    if (is_stream) {
      sequence->chunk_begin = std::min(sequence->chunk_begin, length);
    }
    Truncate(*sequence, length);
  }
  CompareRow(*sequence);
}

void ModelWalk::Slide() {
  Sequence* sequence = Pick(Kind::kSequence);
  if (sequence == nullptr) return;
  const auto window = static_cast<int64_t>(
      1 + Random(static_cast<uint64_t>(options_.longest_prompt)));
  const int64_t sink = sequence->domain == 0 ? 0 : 3;
  // Tokens that no step has written yet are still to be seen by their own.
  if (sequence->written < sequence->length()) return;
  if (naive_ != nullptr) {
    naive_->Slide(*sequence, window, sink);
  }
  Agree("Slide", true,
        [&] { return manager_->Slide(sequence->handle, window, sink); });
  CompareRow(*sequence);
}

void ModelWalk::Commit() {
  Sequence* sequence = Pick(Kind::kSequence);
  if (sequence == nullptr) return;
  // On one queue readers run after the writers; on two they wait for them.
  const int64_t known = options_.manager.reuse == ReusePolicy::kAfterRetire
                            ? sequence->finished
                            : sequence->written;
  if (known < sequence->computed) return;
  const int64_t num_computed =
      known - static_cast<int64_t>(Random(
                  static_cast<uint64_t>(known - sequence->computed) + 1));
  if (naive_ != nullptr) naive_->Commit(*sequence, num_computed);
  Agree("Commit", true, [&] {
    return manager_->Commit(sequence->handle, num_computed,
                            PrefixOf(*sequence));
  });
  sequence->computed = num_computed;
}

void ModelWalk::Pin() {
  Sequence* like = Pick(Kind::kSequence);
  if (like == nullptr) return;
  auto pin = std::make_unique<Sequence>();
  pin->kind = Kind::kPin;
  const auto num_blocks = static_cast<int64_t>(like->digests.size());
  std::optional<bool> predicted;
  if (naive_ != nullptr) predicted = naive_->Pin(*like, num_blocks, *pin);
  absl::StatusOr<PinnedPrefix> pinned;
  if (!Agree("Pin", predicted, [&] {
        pinned = manager_->Pin(PrefixOf(*like));
        return pinned.status();
      })) {
    return;
  }
  pin->handle = pinned->handle;
  CompareRow(*pin);
  open_.push_back(std::move(pin));
}

void ModelWalk::Release(std::size_t at) {
  Sequence& sequence = *open_[at];
  if (naive_ != nullptr) naive_->Release(sequence);
  Agree("Release", true, [&] {
    return sequence.kind == Kind::kPin
               ? manager_->Unpin(sequence.handle)
               : manager_->Release(sequence.handle).status();
  });
  if (stale_.size() < 64) stale_.push_back(sequence.handle);
  stale_[Random(stale_.size())] = sequence.handle;
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ModelWalk::Reset() {
  if (Random(20) != 0) return;
  if (naive_ != nullptr) naive_->Reset();
  manager_->ResetCache();
}

void ModelWalk::UseStaleHandle() {
  if (stale_.empty()) return;
  const SequenceHandle handle = stale_[Random(stale_.size())];
  Agree("Append to what was released", false,
        [&] { return manager_->Append(handle, 1); });
  Agree("Release twice", false,
        [&] { return manager_->Release(handle).status(); });
  Agree("Fork of what was released", false,
        [&] { return manager_->Fork(handle).status(); });
}

}  // namespace paged::testing
