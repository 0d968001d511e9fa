#include <algorithm>

#include "tests/lib/blocks/naive_manager.h"

namespace paged::testing {

int64_t NaiveManager::Matching(const Sequence& sequence, int64_t most) const {
  int64_t found = 0;
  while (found < most && index_.contains(KeyOf(sequence, found))) ++found;
  return found;
}

int64_t NaiveManager::IdleAmong(const Sequence& sequence,
                                int64_t num_blocks) const {
  int64_t num_idle = 0;
  for (int64_t i = 0; i < num_blocks; ++i) {
    const int32_t block = index_.at(KeyOf(sequence, i));
    num_idle += std::count(idle_.begin(), idle_.end(), block);
  }
  return num_idle;
}

bool NaiveManager::Open(Sequence& sequence, int64_t lookahead,
                        int64_t* cached_blocks) {
  const int64_t columns = Columns(sequence.length());
  const int64_t found =
      Matching(sequence, (sequence.length() - 1) / options_.block_size);
  if (!HasRoom() || !CanEverHold(Columns(sequence.length() + lookahead)) ||
      columns - found > available() - IdleAmong(sequence, found)) {
    return false;
  }
  ++num_open_;
  for (int64_t i = 0; i < found; ++i) {
    sequence.row.push_back(index_[KeyOf(sequence, i)]);
    Hold(sequence.row.back());
  }
  while (static_cast<int64_t>(sequence.row.size()) < columns) {
    sequence.row.push_back(Take());
  }
  sequence.computed = found * options_.block_size;
  sequence.committed = found;
  sequence.written = sequence.finished = sequence.computed;
  sequence.last_write_step = building();
  sequence.cache_epoch = cache_epoch_;
  *cached_blocks = found;
  return true;
}

bool NaiveManager::OpenStream(Sequence& sequence) {
  const StreamRequest& request = sequence.stream;
  const int64_t columns =
      Columns(request.sink) +
      Columns(request.window - 1 + request.max_chunk + options_.block_size - 1);
  if (!HasRoom() || !CanEverHold(columns) || columns > available()) {
    return false;
  }
  ++num_open_;
  for (int64_t i = 0; i < columns; ++i) sequence.row.push_back(Take());
  return true;
}

bool NaiveManager::Append(Sequence& sequence, int64_t num_tokens) {
  const int64_t length = sequence.length() + num_tokens;
  if (sequence.kind == Kind::kStream) {
    if (num_tokens > sequence.stream.max_chunk) return false;
    sequence.chunk_begin = sequence.length();
    sequence.high_water = std::max(sequence.high_water, length);
    return true;
  }
  const int64_t columns = Columns(length);
  if (columns > options_.max_blocks_per_seq) return false;
  const bool is_partial = sequence.length() % options_.block_size != 0;
  const bool copies = is_partial && (holders_[sequence.row.back()] > 1 ||
                                     keys_.contains(sequence.row.back()));
  if (copies && (sequence.last_write_step == building() ||
                 std::ssize(copies_[building()]) >= options_.max_seqs)) {
    return false;
  }
  const int64_t more = columns - std::ssize(sequence.row);
  if (more + (copies ? 1 : 0) > available()) return false;
  if (copies) {
    // The source stays held, by the copy.
    const BlockCopy copy{sequence.row.back(), Take()};
    copies_[building()].push_back(copy);
    sequence.row.back() = copy.destination;
  }
  for (int64_t i = 0; i < more; ++i) sequence.row.push_back(Take());
  sequence.last_write_step = building();
  return true;
}

bool NaiveManager::Fork(const Sequence& parent, Sequence& child) {
  if (!HasRoom()) return false;
  ++num_open_;
  child = parent;
  for (const int32_t block : child.row) {
    if (block != 0) Hold(block);
  }
  return true;
}

bool NaiveManager::Cut(Sequence& sequence, int64_t length, int64_t least) {
  least = std::max(least, sequence.slid_end * options_.block_size);
  if (length < least || length > sequence.length()) return false;
  while (std::ssize(sequence.row) > Columns(length)) {
    const int32_t block = sequence.row.back();
    sequence.row.pop_back();
    if (block != 0) Drop(block);
  }
  sequence.computed = std::min(sequence.computed, length);
  sequence.committed =
      std::min(sequence.committed, length / options_.block_size);
  return true;
}

bool NaiveManager::RollbackStream(Sequence& sequence, int64_t length) {
  const int64_t sinks = Columns(sequence.stream.sink);
  const int64_t ring = std::ssize(sequence.row) - sinks;
  const int64_t seen =
      std::max<int64_t>(0, length - sequence.stream.window + 1);
  const int64_t first = std::max(sinks, seen / options_.block_size);
  if ((first + ring) * options_.block_size < sequence.high_water) return false;
  sequence.chunk_begin = std::min(sequence.chunk_begin, length);
  return true;
}

void NaiveManager::Slide(Sequence& sequence, int64_t window, int64_t sink) {
  const int64_t seen = std::max<int64_t>(0, sequence.length() - window + 1);
  const int64_t end = seen / options_.block_size;
  const int64_t begin = std::max(Columns(sink), sequence.slid_end);
  if (end <= begin) return;
  for (int64_t i = end - 1; i >= begin; --i) {
    int32_t& block = sequence.row[static_cast<std::size_t>(i)];
    const int32_t dropped = block;
    block = 0;
    Drop(dropped);
  }
  sequence.slid_begin = Columns(sink);
  sequence.slid_end = end;
}

void NaiveManager::Commit(Sequence& sequence, int64_t num_computed) {
  sequence.computed = num_computed;
  if (sequence.cache_epoch != cache_epoch_) return;
  const int64_t end = num_computed / options_.block_size;
  for (int64_t i = sequence.committed; i < end; ++i) {
    const int32_t block = sequence.row[static_cast<std::size_t>(i)];
    const uint64_t key = KeyOf(sequence, i);
    if (block == 0 || keys_.contains(block) || index_.contains(key)) continue;
    index_[key] = block;
    keys_[block] = key;
  }
  sequence.committed = std::max(sequence.committed, end);
}

bool NaiveManager::Pin(const Sequence& like, int64_t num_blocks,
                       Sequence& pin) {
  const int64_t found = Matching(like, num_blocks);
  if (!HasRoom() || found == 0) return false;
  ++num_open_;
  for (int64_t i = 0; i < found; ++i) {
    pin.row.push_back(index_[KeyOf(like, i)]);
    Hold(pin.row.back());
  }
  return true;
}

void NaiveManager::Release(Sequence& sequence) {
  --num_open_;
  while (!sequence.row.empty()) {
    const int32_t block = sequence.row.back();
    sequence.row.pop_back();
    if (block != 0) Drop(block);
  }
}

}  // namespace paged::testing
