#include "paged/internal/block_moves.h"

#include <algorithm>
#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "paged/dtype.h"
#include "paged/internal/status_macros.h"

namespace paged::internal {
namespace {

// The copies, who writes which block, and how many still read what each
// writes.
class CopyOrder {
 public:
  explicit CopyOrder(absl::Span<const BlockCopy> copies) {
    for (const BlockCopy& copy : copies) {
      if (copy.source != copy.destination) copies_.push_back(copy);
    }
    writers_.reserve(copies_.size());
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      writers_.emplace(copies_[i].destination, static_cast<std::ptrdiff_t>(i));
    }
    num_readers_.resize(copies_.size());
    for (const BlockCopy& copy : copies_) {
      const std::ptrdiff_t writer = WriterOf(copy.source);
      if (writer >= 0) ++num_readers_[At(writer)];
    }
  }

  std::vector<OrderedMove> Moves() {
    std::vector<std::ptrdiff_t> entangled;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      if (num_readers_[i] > 0 || WriterOf(copies_[i].source) >= 0) {
        entangled.push_back(static_cast<std::ptrdiff_t>(i));
      } else {
        Add(copies_[i], kEndsChain);
      }
    }
    for (const std::ptrdiff_t first : entangled) AddUnread(first);
    for (const std::ptrdiff_t first : entangled) AddCycle(first);
    if (!moves_.empty()) moves_.back().flags |= kEndsChain;
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

  void Add(const BlockCopy& copy, uint8_t flags) {
    moves_.push_back({{copy.source, copy.destination}, flags});
  }

  // A copy whose destination nobody reads any more, then the one that writes
  // what it has read, and so on.
  void AddUnread(std::ptrdiff_t i) {
    while (i >= 0 && num_readers_[At(i)] == 0) {
      Add(copies_[At(i)], 0);
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
      if (source != pivot) Add({pivot, source}, kSwaps);
      i = WriterOf(source);
    }
    // They were found from the last to the first.
    std::reverse(moves_.begin() + static_cast<std::ptrdiff_t>(begin),
                 moves_.end());
  }

  std::vector<BlockCopy> copies_;
  absl::flat_hash_map<int32_t, std::ptrdiff_t> writers_;  // by destination
  std::vector<int> num_readers_;
  std::vector<OrderedMove> moves_;
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

std::vector<OrderedMove> OrderMoves(absl::Span<const BlockCopy> copies) {
  return CopyOrder(copies).Moves();
}

absl::Status ForEachCopyLaunch(
    const CopyBlocksArgs& args,
    absl::FunctionRef<absl::Status(const CopyParams&)> launch) {
  PAGED_ASSIGN_OR_RETURN(const CopyBlocksArgs a, ValidateCopy(args));
  const std::vector<OrderedMove> moves = OrderMoves(a.copies);
  CopyParams params{.layout = LayoutOf(a)};
  for (std::size_t first = 0; first < moves.size();
       first += CopyParams::kMaxMoves) {
    params.num_moves = static_cast<int>(
        std::min<std::size_t>(CopyParams::kMaxMoves, moves.size() - first));
    for (int i = 0; i < params.num_moves; ++i) {
      const OrderedMove& ordered = moves[first + static_cast<std::size_t>(i)];
      params.moves[i] = ordered.move;
      params.flags[i] = ordered.flags;
    }
    for (std::size_t pool = 0; pool < a.caches.size();
         pool += CopyParams::kMaxPools) {
      const auto caches = a.caches.subspan(pool, CopyParams::kMaxPools);
      params.num_pools = static_cast<int>(caches.size());
      std::copy(caches.begin(), caches.end(), params.pools);
      PAGED_RETURN_IF_ERROR(launch(params));
    }
  }
  return absl::OkStatus();
}

}  // namespace paged::internal
