#include "paged/internal/block_moves.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "paged/dtype.h"
#include "paged/internal/block_set.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

// Copies that meet, who writes which block, and how many still read what each
// writes.
class CopyOrder {
 public:
  explicit CopyOrder(std::vector<BlockMove> copies)
      : copies_(std::move(copies)) {
    writers_.reserve(copies_.size());
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      writers_.emplace(copies_[i].destination, static_cast<std::ptrdiff_t>(i));
    }
    num_readers_.resize(copies_.size());
    for (const BlockMove& copy : copies_) {
      const std::ptrdiff_t writer = WriterOf(copy.source);
      if (writer >= 0) ++num_readers_[At(writer)];
    }
  }

  std::vector<ChainedMove> Moves() {
    const auto count = static_cast<std::ptrdiff_t>(copies_.size());
    for (std::ptrdiff_t first = 0; first < count; ++first) AddUnread(first);
    for (std::ptrdiff_t first = 0; first < count; ++first) AddCycle(first);
    return std::move(moves_);
  }

 private:
  static constexpr int kDone = -1;

  static std::size_t At(std::ptrdiff_t i) {
    return static_cast<std::size_t>(i);
  }

  // The copy that writes `block`, or -1.
  std::ptrdiff_t WriterOf(int32_t block) const {
    const auto found = writers_.find(block);
    return found == writers_.end() ? -1 : found->second;
  }

  // A copy whose destination nobody reads any more, then the one that writes
  // what it has read, and so on.
  void AddUnread(std::ptrdiff_t i) {
    while (i >= 0 && num_readers_[At(i)] == 0) {
      moves_.push_back({copies_[At(i)]});
      num_readers_[At(i)] = kDone;
      i = WriterOf(copies_[At(i)].source);
      if (i >= 0) --num_readers_[At(i)];
    }
  }

  // What is left are cycles. Of blocks b0, b1, ... that go to one another,
  // exchanging b0 with each of the others in turn puts every one in its place.
  void AddCycle(std::ptrdiff_t i) {
    if (num_readers_[At(i)] == kDone) return;
    const std::size_t begin = moves_.size();
    const int32_t pivot = copies_[At(i)].destination;
    while (num_readers_[At(i)] != kDone) {
      num_readers_[At(i)] = kDone;
      const int32_t source = copies_[At(i)].source;
      if (source != pivot) {
        moves_.push_back({{pivot, source}, /*swaps=*/true});
      }
      i = WriterOf(source);
    }
    // They were found from the last to the first.
    std::reverse(moves_.begin() + static_cast<std::ptrdiff_t>(begin),
                 moves_.end());
  }

  std::vector<BlockMove> copies_;
  absl::flat_hash_map<int32_t, std::ptrdiff_t> writers_;  // by destination
  std::vector<int> num_readers_;
  std::vector<ChainedMove> moves_;
};

BlockLayout LayoutOf(const CopyBlocksArgs& a) {
  const int64_t bytes = SizeOf(a.dtype);
  return Merged({.block_stride = a.strides.block_stride * bytes,
                 .outer_stride = a.strides.slot_stride * bytes,
                 .inner_stride = a.strides.head_stride * bytes,
                 .num_outer = a.block_size,
                 .num_inner = a.num_kv_heads,
                 .row_bytes = a.head_dim * bytes});
}

}  // namespace

OrderedMoves OrderMoves(absl::Span<const BlockCopy> copies,
                        int64_t num_blocks) {
  BlockSet read(num_blocks, copies.size());
  BlockSet written(num_blocks, copies.size());
  for (const BlockCopy& copy : copies) {
    if (copy.source == copy.destination) continue;
    read.Insert(copy.source);
    written.Insert(copy.destination);
  }
  OrderedMoves ordered;
  ordered.apart.reserve(copies.size());
  std::vector<BlockMove> meeting;
  for (const BlockCopy& copy : copies) {
    if (copy.source == copy.destination) continue;
    const bool meets =
        written.Contains(copy.source) || read.Contains(copy.destination);
    (meets ? meeting : ordered.apart)
        .push_back({copy.source, copy.destination});
  }
  if (!meeting.empty()) {
    ordered.chained = CopyOrder(std::move(meeting)).Moves();
  }
  return ordered;
}

absl::Status WithCopyList(
    const CopyBlocksArgs& args,
    absl::FunctionRef<absl::Status(const CopyList&)> run) {
  PAGED_ASSIGN_OR_RETURN(const CopyBlocksArgs a, ValidateCopy(args));
  const OrderedMoves moves = OrderMoves(a.copies, a.num_blocks);
  if (a.caches.empty() || (moves.apart.empty() && moves.chained.empty())) {
    return absl::OkStatus();
  }
  return run({.layout = LayoutOf(a),
              .pools = {a.caches.data(), a.caches.size()},
              .apart = moves.apart,
              .chained = moves.chained});
}

}  // namespace paged::internal
