// From copies that happen all at once to moves that can be done in order.
#ifndef PAGED_LIB_PAGED_INTERNAL_BLOCK_MOVES_H_
#define PAGED_LIB_PAGED_INTERNAL_BLOCK_MOVES_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/core/copy_params.h"
#include "paged/copy_blocks.h"

namespace paged::internal {

struct OrderedMove {
  BlockMove move;
  uint8_t flags;  // MoveFlags
};

// `copies` name each destination once. A copy that shares no block with another
// that writes it is a chain of its own; all others, which copy on write never
// makes, are one chain at the end: first what nobody reads any more is
// overwritten, then the cycles that are left are turned by exchanges.
std::vector<OrderedMove> OrderMoves(absl::Span<const BlockCopy> copies);

// Validates, orders, and calls `launch` for as many moves and caches as go in
// one; stops at the first error.
absl::Status ForEachCopyLaunch(
    const CopyBlocksArgs& args,
    absl::FunctionRef<absl::Status(const CopyParams&)> launch);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_BLOCK_MOVES_H_
