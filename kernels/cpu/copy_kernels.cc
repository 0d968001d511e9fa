#include "kernels/cpu/copy_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace paged {
namespace {

void MoveRow(std::byte* source, std::byte* destination, int64_t bytes,
             bool swaps) {
  if (swaps) {
    std::swap_ranges(source, source + bytes, destination);
  } else {
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

void RunCopyBlocks(const CopyParams& p) {
  const BlockLayout& layout = p.layout;
  for (int pool = 0; pool < p.num_pools; ++pool) {
    auto* base = static_cast<std::byte*>(p.pools[pool]);
    for (int move = 0; move < p.num_moves; ++move) {
      std::byte* source = base + p.moves[move].source * layout.block_stride;
      std::byte* destination =
          base + p.moves[move].destination * layout.block_stride;
      for (int64_t outer = 0; outer < layout.num_outer; ++outer) {
        for (int64_t inner = 0; inner < layout.num_inner; ++inner) {
          const int64_t row =
              outer * layout.outer_stride + inner * layout.inner_stride;
          MoveRow(source + row, destination + row, layout.row_bytes,
                  (p.flags[move] & kSwaps) != 0);
        }
      }
    }
  }
}

}  // namespace paged
