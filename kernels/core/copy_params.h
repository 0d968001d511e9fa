// What a copy of whole blocks is given, on the CPU and on the GPU alike.
#ifndef PAGED_KERNELS_CORE_COPY_PARAMS_H_
#define PAGED_KERNELS_CORE_COPY_PARAMS_H_

#include <cstdint>
#include <span>
#include <utility>

namespace paged {

struct BlockMove {
  int32_t source = 0;
  int32_t destination = 0;
};

// One of a sequence of moves, done one after another. `swaps` exchanges the two
// blocks.
struct ChainedMove {
  BlockMove blocks;
  bool swaps = false;
};

// The vectors of one block. Strides and sizes are in bytes.
struct BlockLayout {
  int64_t block_stride = 0;
  int64_t outer_stride = 0;
  int64_t inner_stride = 0;
  int num_outer = 1;
  int num_inner = 1;
  int64_t row_bytes = 0;

  int64_t block_bytes() const { return row_bytes * num_outer * num_inner; }
};

// The layout with vectors that lie side by side as one.
inline BlockLayout Merged(BlockLayout layout) {
  if (layout.num_outer > 1 && layout.outer_stride < layout.inner_stride) {
    std::swap(layout.outer_stride, layout.inner_stride);
    std::swap(layout.num_outer, layout.num_inner);
  }
  for (int axis = 0; axis < 2; ++axis) {
    if (layout.num_inner == 1 || layout.inner_stride == layout.row_bytes) {
      layout.row_bytes *= layout.num_inner;
      layout.inner_stride = layout.outer_stride;
      layout.num_inner = layout.num_outer;
      layout.num_outer = 1;
    }
  }
  return layout;
}

// Memory of the host's, read before the launch returns.
struct CopyList {
  BlockLayout layout;  // of each pool
  std::span<void* const> pools;
  // Moves that no other move touches: done in any order, all at once.
  std::span<const BlockMove> apart;
  // Moves that meet: done in this order, byte by byte of a block, so that one
  // thread takes the same bytes through all of them.
  std::span<const ChainedMove> chained;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_COPY_PARAMS_H_
