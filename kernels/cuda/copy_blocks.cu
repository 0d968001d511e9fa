// Copies whole blocks of a pool, and exchanges them.
//
// Grid    x: spans of a block; y: moves, of which the first of each chain works
//         for all of it; z: pools (keys and values, layers).
// Thread  kPiecesPerThread pieces of a block, of the widest that all addresses
//         allow: all are loaded before the first is stored.
#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/pieces.cuh"

namespace paged {
namespace {

constexpr int kThreads = 256;
constexpr int kPiecesPerThread = 4;
constexpr int kPiecesPerCta = kThreads * kPiecesPerThread;

// Bytes from a block's begin to one of its pieces.
template <typename Piece>
__device__ int64_t OffsetOfPiece(const BlockLayout& layout, int64_t piece) {
  if (layout.num_outer == 1 && layout.num_inner == 1) {
    return piece * static_cast<int64_t>(sizeof(Piece));
  }
  const int64_t pieces_per_row =
      layout.row_bytes / static_cast<int64_t>(sizeof(Piece));
  const int64_t row = piece / pieces_per_row;
  const int64_t outer = row / layout.num_inner;
  return outer * layout.outer_stride +
         (row - outer * layout.num_inner) * layout.inner_stride +
         (piece - row * pieces_per_row) * static_cast<int64_t>(sizeof(Piece));
}

template <typename Piece>
__global__ void __launch_bounds__(kThreads)
    CopyBlocksKernel(const __grid_constant__ CopyParams p, int64_t num_pieces) {
  int move = static_cast<int>(blockIdx.y);
  if (move > 0 && (p.flags[move - 1] & kEndsChain) == 0) return;
  char* pool = static_cast<char*>(p.pools[blockIdx.z]);
  int64_t offsets[kPiecesPerThread];  // -1: past the block
#pragma unroll
  for (int i = 0; i < kPiecesPerThread; ++i) {
    const int64_t piece =
        int64_t{blockIdx.x} * kPiecesPerCta + i * kThreads + threadIdx.x;
    offsets[i] =
        piece < num_pieces ? OffsetOfPiece<Piece>(p.layout, piece) : -1;
  }
  for (bool is_last = false; !is_last; ++move) {
    char* source = pool + p.moves[move].source * p.layout.block_stride;
    char* target = pool + p.moves[move].destination * p.layout.block_stride;
    const bool swaps = (p.flags[move] & kSwaps) != 0;
    Piece moved[kPiecesPerThread], exchanged[kPiecesPerThread];
#pragma unroll
    for (int i = 0; i < kPiecesPerThread; ++i) {
      if (offsets[i] < 0) continue;
      moved[i] = *reinterpret_cast<const Piece*>(source + offsets[i]);
      if (swaps) {
        exchanged[i] = *reinterpret_cast<const Piece*>(target + offsets[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kPiecesPerThread; ++i) {
      if (offsets[i] < 0) continue;
      *reinterpret_cast<Piece*>(target + offsets[i]) = moved[i];
      if (swaps) {
        *reinterpret_cast<Piece*>(source + offsets[i]) = exchanged[i];
      }
    }
    is_last = (p.flags[move] & kEndsChain) != 0 || move + 1 == p.num_moves;
  }
}

template <typename Piece>
cudaError_t LaunchPieces(const CopyParams& p, cudaStream_t stream) {
  const int64_t num_pieces =
      p.layout.block_bytes() / static_cast<int64_t>(sizeof(Piece));
  const dim3 grid(
      static_cast<unsigned>((num_pieces + kPiecesPerCta - 1) / kPiecesPerCta),
      static_cast<unsigned>(p.num_moves), static_cast<unsigned>(p.num_pools));
  return LaunchKernel(&CopyBlocksKernel<Piece>,
                      {.grid = grid, .threads = kThreads}, stream, p,
                      num_pieces);
}

}  // namespace

cudaError_t LaunchCopyBlocks(const CopyParams& p, cudaStream_t stream) {
  if (p.num_moves == 0 || p.num_pools == 0) return cudaSuccess;
  uint64_t bits = static_cast<uint64_t>(p.layout.row_bytes) |
                  static_cast<uint64_t>(p.layout.block_stride) |
                  static_cast<uint64_t>(p.layout.outer_stride) |
                  static_cast<uint64_t>(p.layout.inner_stride);
  for (int i = 0; i < p.num_pools; ++i) {
    bits |= reinterpret_cast<uintptr_t>(p.pools[i]);
  }
  return WithWidestPiece(bits, [&]<typename Piece>(Piece) {
    return LaunchPieces<Piece>(p, stream);
  });
}

}  // namespace paged
