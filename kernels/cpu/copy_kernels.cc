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

void MoveBlock(const BlockLayout& layout, void* pool, const BlockMove& move,
               bool swaps) {
  auto* base = static_cast<std::byte*>(pool);
  std::byte* source = base + move.source * layout.block_stride;
  std::byte* destination = base + move.destination * layout.block_stride;
  for (int64_t outer = 0; outer < layout.num_outer; ++outer) {
    for (int64_t inner = 0; inner < layout.num_inner; ++inner) {
      const int64_t row =
          outer * layout.outer_stride + inner * layout.inner_stride;
      MoveRow(source + row, destination + row, layout.row_bytes, swaps);
    }
  }
}

}  // namespace

void RunCopyBlocks(const CopyList& list) {
  for (void* pool : list.pools) {
    for (const BlockMove& move : list.apart) {
      MoveBlock(list.layout, pool, move, false);
    }
    for (const ChainedMove& move : list.chained) {
      MoveBlock(list.layout, pool, move.blocks, move.swaps);
    }
  }
}

}  // namespace paged
