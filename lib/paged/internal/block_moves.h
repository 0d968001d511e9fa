// From copies that happen all at once to moves that can be done in order.
#ifndef PAGED_LIB_PAGED_INTERNAL_BLOCK_MOVES_H_
#define PAGED_LIB_PAGED_INTERNAL_BLOCK_MOVES_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/core/copy_params.h"
#include "paged/copy_blocks.h"

namespace paged::internal {

struct OrderedMoves {
  std::vector<BlockMove> apart;
  std::vector<ChainedMove> chained;
};

// `copies` name each destination once, blocks of a pool of `num_blocks`. Copies
// that share no block with another that writes it are apart; the others, which
// copy on write never makes, are a chain: first what nobody reads any more is
// overwritten, then the cycles that are left are turned by exchanges.
OrderedMoves OrderMoves(absl::Span<const BlockCopy> copies, int64_t num_blocks);

// Validates, orders, and calls `run` where there is something to move.
absl::Status WithCopyList(const CopyBlocksArgs& args,
                          absl::FunctionRef<absl::Status(const CopyList&)> run);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_BLOCK_MOVES_H_
