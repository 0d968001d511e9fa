// The open sequences, their rows of the block table, and which entries changed.
#ifndef PAGED_LIB_PAGED_INTERNAL_SEQUENCE_TABLE_H_
#define PAGED_LIB_PAGED_INTERNAL_SEQUENCE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paged/block_manager_types.h"
#include "paged/internal/prefix_index.h"

namespace paged::internal {

enum class SequenceKind : uint8_t { kClosed, kSequence, kStream, kPin };

// Columns [begin, end).
struct ColumnRange {
  int32_t begin = 0;
  int32_t end = 0;

  bool empty() const { return begin >= end; }
  // The hull: what lies between is sent needlessly, but rightly.
  void Include(int32_t first, int32_t last);
};

struct Sequence {
  // The first cache line is all that most appends touch.
  uint64_t generation = 0;
  int64_t length = 0;
  // Up to this length an append needs no block and no copy: the last block is
  // known to be writable. 0 if that has to be found out.
  int64_t owned_end = 0;
  uint64_t last_write_step = 0;
  int32_t num_columns = 0;
  int32_t committed_blocks = 0;
  int64_t computed = 0;
  SequenceKind kind = SequenceKind::kClosed;

  uint64_t cache_epoch = 0;  // of the prefix cache it may publish to
  ContentId last_content = kRootContent;  // of its last committed block
  ColumnRange slid = {};                  // columns that were given back

  bool in_changed_rows = false;
  ColumnRange changed = {};       // at the end of the row
  ColumnRange changed_slid = {};  // at the front

  // Streams: the row is num_sink_columns and then a ring.
  int64_t window = 0;
  int64_t max_chunk = 0;
  int64_t chunk_begin = 0;  // length before the last append
  int64_t high_water = 0;   // greatest length so far
  int32_t num_sink_columns = 0;
};

class SequenceTable {
 public:
  SequenceTable(int max_seqs, int width);

  int width() const { return static_cast<int>(width_); }
  int max_seqs() const { return static_cast<int>(sequences_.size()); }
  int num_open() const { return max_seqs() - static_cast<int>(num_closed_); }

  // Null unless `handle` names what is open.
  Sequence* Find(SequenceHandle handle) {
    if (handle.slot >= sequences_.size()) return nullptr;
    Sequence& sequence = sequences_[handle.slot];
    return sequence.generation == handle.generation &&
                   sequence.kind != SequenceKind::kClosed
               ? &sequence
               : nullptr;
  }
  const Sequence* Find(SequenceHandle handle) const {
    return const_cast<SequenceTable*>(this)->Find(handle);
  }

  bool HasClosed() const { return num_closed_ > 0; }
  // The slot that Open gives next; its row may be written before.
  uint32_t NextSlot() const { return closed_[num_closed_ - 1]; }
  SequenceHandle Open(SequenceKind kind);
  void Close(uint32_t slot);

  Sequence& at(uint32_t slot) { return sequences_[slot]; }
  const Sequence& at(uint32_t slot) const { return sequences_[slot]; }
  uint32_t SlotOf(const Sequence& sequence) const {
    return static_cast<uint32_t>(&sequence - sequences_.data());
  }
  int32_t* Row(uint32_t slot) { return rows_.data() + slot * width_; }
  const int32_t* Row(uint32_t slot) const {
    return rows_.data() + slot * width_;
  }

  void MarkChanged(Sequence& sequence, int32_t begin, int32_t end);
  void MarkSlid(Sequence& sequence, int32_t begin, int32_t end);
  void MarkAllChanged();  // every entry of what is open
  std::size_t TakeChanges(absl::Span<TableChange> changes);

 private:
  friend struct BlockManagerAccess;
  void ListChanged(Sequence& sequence);

  std::size_t width_;
  std::vector<Sequence> sequences_;
  std::vector<int32_t> rows_;  // [max_seqs, width]
  std::vector<uint32_t> closed_;
  std::size_t num_closed_ = 0;
  std::vector<uint32_t> changed_rows_;  // each at most once
  std::size_t num_changed_rows_ = 0;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_SEQUENCE_TABLE_H_
