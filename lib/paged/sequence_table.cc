#include "paged/internal/sequence_table.h"

#include <algorithm>
#include <atomic>

namespace paged::internal {
namespace {

// Generations of different managers lie apart, so that each refuses the
// handles of the others.
constexpr int kGenerationBits = 40;
std::atomic<uint64_t> num_managers = 0;

}  // namespace

void ColumnRange::Include(int32_t first, int32_t last) {
  if (empty()) {
    *this = {first, last};
  } else {
    begin = std::min(begin, first);
    end = std::max(end, last);
  }
}

SequenceTable::SequenceTable(int max_seqs, int width)
    : width_(static_cast<std::size_t>(width)),
      sequences_(static_cast<std::size_t>(max_seqs)),
      rows_(sequences_.size() * width_),
      closed_(sequences_.size()),
      num_closed_(sequences_.size()),
      changed_rows_(sequences_.size()) {
  const uint64_t first = ++num_managers << kGenerationBits;
  for (Sequence& sequence : sequences_) sequence.generation = first;
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    closed_[i] = static_cast<uint32_t>(closed_.size() - 1 - i);
  }
}

SequenceHandle SequenceTable::Open(SequenceKind kind) {
  const uint32_t slot = closed_[--num_closed_];
  Sequence& sequence = sequences_[slot];
  const bool in_changed_rows = sequence.in_changed_rows;
  sequence = {.generation = sequence.generation + 1, .kind = kind};
  sequence.in_changed_rows = in_changed_rows;
  return {.slot = slot, .generation = sequence.generation};
}

void SequenceTable::Close(uint32_t slot) {
  Sequence& sequence = sequences_[slot];
  sequence.kind = SequenceKind::kClosed;
  sequence.changed = sequence.changed_slid = {};
  closed_[num_closed_++] = slot;
}

void SequenceTable::ListChanged(Sequence& sequence) {
  if (sequence.in_changed_rows) return;
  sequence.in_changed_rows = true;
  changed_rows_[num_changed_rows_++] = SlotOf(sequence);
}

void SequenceTable::MarkChanged(Sequence& sequence, int32_t begin,
                                int32_t end) {
  if (begin >= end) return;
  sequence.changed.Include(begin, end);
  ListChanged(sequence);
}

void SequenceTable::MarkSlid(Sequence& sequence, int32_t begin, int32_t end) {
  if (begin >= end) return;
  sequence.changed_slid.Include(begin, end);
  ListChanged(sequence);
}

void SequenceTable::MarkAllChanged() {
  for (Sequence& sequence : sequences_) {
    if (sequence.kind != SequenceKind::kClosed) {
      MarkChanged(sequence, 0, sequence.num_columns);
    }
  }
}

std::size_t SequenceTable::TakeChanges(absl::Span<TableChange> changes) {
  std::size_t num_taken = 0;
  while (num_changed_rows_ > 0) {
    const uint32_t slot = changed_rows_[num_changed_rows_ - 1];
    Sequence& sequence = sequences_[slot];
    const int32_t* row = Row(slot);
    for (ColumnRange* range : {&sequence.changed_slid, &sequence.changed}) {
      // What a rollback has dropped need not be sent.
      range->end = std::min(range->end, sequence.num_columns);
      for (; !range->empty(); ++range->begin) {
        if (num_taken == changes.size()) return num_taken;
        changes[num_taken++] = {.index = static_cast<uint32_t>(slot * width_) +
                                         static_cast<uint32_t>(range->begin),
                                .block = row[range->begin]};
      }
    }
    sequence.in_changed_rows = false;
    --num_changed_rows_;
  }
  return num_taken;
}

}  // namespace paged::internal
