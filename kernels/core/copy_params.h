// What a copy of whole blocks is given, on the CPU and on the GPU alike.
#ifndef PAGED_KERNELS_CORE_COPY_PARAMS_H_
#define PAGED_KERNELS_CORE_COPY_PARAMS_H_

#include <cstdint>
#include <utility>

namespace paged {

struct BlockMove {
  int32_t source = 0;
  int32_t destination = 0;
};

// Moves are dealt to threads by chains: one thread moves the same bytes of all
// blocks of a chain, in order, so that no two threads meet in a chain and none
// in different ones. kSwaps exchanges the two blocks; kEndsChain makes the next
// move independent of this one and all before it.
enum MoveFlags : uint8_t { kSwaps = 1, kEndsChain = 2 };

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

// One launch. As large as a kernel's parameters may be on every GPU (4 KB), so
// that the moves need no memory of the device.
struct CopyParams {
  static constexpr int kMaxPools = 32;
  static constexpr int kMaxMoves = 400;

  BlockLayout layout;  // of each pool
  int num_pools = 0;
  int num_moves = 0;
  void* pools[kMaxPools] = {};
  BlockMove moves[kMaxMoves] = {};
  uint8_t flags[kMaxMoves] = {};
};
static_assert(sizeof(CopyParams) <= 4096 - 64);

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_COPY_PARAMS_H_
