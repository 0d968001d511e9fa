#include "apps/block_replay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

absl::Status Impossible(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot have happened: ", what));
}

}  // namespace

BlockReplay::BlockReplay(const LogPool& pool)
    : pool_(pool),
      blocks_(static_cast<std::size_t>(pool.num_blocks)),
      rows_(static_cast<std::size_t>(pool.num_rows)) {
  sums_.pool = pool;
}

absl::Status BlockReplay::CheckPlaces(const BlockEvent& event) const {
  if (event.slot >= rows_.size()) {
    return Impossible(absl::StrCat("row ", event.slot, " of ", rows_.size()));
  }
  const bool has_block = event.kind == BlockEventKind::kStored ||
                         event.kind == BlockEventKind::kEvicted ||
                         event.kind == BlockEventKind::kCopied ||
                         event.kind == BlockEventKind::kTaken ||
                         event.kind == BlockEventKind::kRemoved;
  const bool has_other = event.kind == BlockEventKind::kCopied;
  for (const int32_t block :
       {has_block ? event.block : 1, has_other ? event.other : 1}) {
    if (block < 1 || block >= pool_.num_blocks) {
      return Impossible(
          absl::StrCat("block ", block, " of ", pool_.num_blocks));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockReplay::Apply(const BlockEvent& event) {
  PAGED_RETURN_IF_ERROR(CheckPlaces(event));
  switch (event.kind) {
    case BlockEventKind::kStored:
    case BlockEventKind::kEvicted:
    case BlockEventKind::kCleared:
      return ApplyContent(event);
    case BlockEventKind::kForked:
      return Fork(event);
    case BlockEventKind::kCopied:
      return Copy(event);
    case BlockEventKind::kOpened:
    case BlockEventKind::kTaken:
    case BlockEventKind::kRemoved:
    case BlockEventKind::kClosed:
    case BlockEventKind::kLength:
      return ApplyRow(event);
    case BlockEventKind::kStep:
      EndStep(event.number);
      break;
  }
  return absl::OkStatus();
}

absl::Status BlockReplay::ApplyContent(const BlockEvent& event) {
  if (event.kind == BlockEventKind::kCleared) {
    for (Block& block : blocks_) block.is_indexed = false;
    cached_ = 0;
    ++sums_.cleared;
    return absl::OkStatus();
  }
  Block& block = At(event.block);
  if (event.kind == BlockEventKind::kStored) {
    if (block.is_indexed || block.num_holders == 0) {
      return Impossible(
          absl::StrCat("block ", event.block, " is stored",
                       block.is_indexed ? " twice" : ", and no row holds it"));
    }
    block.is_indexed = true;
    ++sums_.stored;
    return absl::OkStatus();
  }
  if (!block.is_indexed || block.num_holders > 0) {
    return Impossible(
        absl::StrCat("block ", event.block, " is evicted and ",
                     block.is_indexed ? "held by a row" : "not cached"));
  }
  block.is_indexed = false;
  --cached_;
  ++sums_.evicted;
  return absl::OkStatus();
}

void BlockReplay::OpenRow(Row& row) {
  row = Row{};
  row.is_open = true;
  row.number = ++last_number_;
  ++sums_.num_opened;
}

absl::Status BlockReplay::ApplyRow(const BlockEvent& event) {
  Row& row = rows_[event.slot];
  if (event.kind == BlockEventKind::kOpened) {
    if (row.is_open) {
      return Impossible(absl::StrCat("row ", event.slot, " is opened twice"));
    }
    OpenRow(row);
    sums_.lookups += event.block;
    sums_.hits += event.other;
    return absl::OkStatus();
  }
  if (!row.is_open) {
    return Impossible(absl::StrCat("row ", event.slot, " is not open"));
  }
  if (event.kind == BlockEventKind::kTaken) {
    Hold(event.block, row);
    row.blocks.push_back(event.block);
  } else if (event.kind == BlockEventKind::kLength) {
    row.has_length = true;
    row.tokens = event.number;
  } else if (event.kind == BlockEventKind::kRemoved) {
    const auto found =
        std::find(row.blocks.begin(), row.blocks.end(), event.block);
    if (found == row.blocks.end()) {
      return Impossible(absl::StrCat("row ", event.slot,
                                     " does not hold block ", event.block));
    }
    row.blocks.erase(found);
    Drop(event.block);
  } else {
    if (!row.blocks.empty()) {
      return Impossible(absl::StrCat("row ", event.slot,
                                     " is closed and holds ", row.blocks.size(),
                                     " blocks"));
    }
    row.is_open = false;
  }
  return absl::OkStatus();
}

absl::Status BlockReplay::Fork(const BlockEvent& event) {
  const auto from = static_cast<std::size_t>(event.block);
  if (from >= rows_.size() || !rows_[from].is_open ||
      rows_[event.slot].is_open) {
    return Impossible(
        absl::StrCat("row ", event.slot, " is forked from row ", event.block));
  }
  Row& child = rows_[event.slot];
  OpenRow(child);
  child.blocks = rows_[from].blocks;
  child.has_length = rows_[from].has_length;
  child.tokens = rows_[from].tokens;
  for (const int32_t block : child.blocks) Hold(block, child);
  ++sums_.forked;
  return absl::OkStatus();
}

absl::Status BlockReplay::Copy(const BlockEvent& event) {
  Row& row = rows_[event.slot];
  const auto found =
      std::find(row.blocks.begin(), row.blocks.end(), event.block);
  if (!row.is_open || found == row.blocks.end()) {
    return Impossible(absl::StrCat("row ", event.slot, " does not hold block ",
                                   event.block, ", which is copied for it"));
  }
  *found = event.other;
  Hold(event.other, row);
  Drop(event.block);
  ++sums_.copied;
  return absl::OkStatus();
}

void BlockReplay::Hold(int32_t block, const Row& row) {
  Block& held = At(block);
  ++held.num_holders;
  if (held.num_holders == 1) {
    // A block that several rows hold keeps its first one's colour.
    held.number = row.number;
    ++used_;
    if (held.is_indexed) --cached_;
  }
  if (held.num_holders == 2) ++shared_;
}

void BlockReplay::Drop(int32_t block) {
  Block& held = At(block);
  --held.num_holders;
  if (held.num_holders == 1) --shared_;
  if (held.num_holders == 0) {
    --used_;
    if (held.is_indexed) ++cached_;
  }
}

}  // namespace paged
