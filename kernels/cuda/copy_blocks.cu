// Copies whole blocks of a pool, and exchanges them.
//
// CopyApartKernel    Moves that do not meet. Grid x: spans of the pieces of all
//                    moves, one block after another; y: pools (keys and values,
//                    layers). A thread loads all of its pieces before it stores
//                    the first.
// CopyChainedKernel  Moves that do. Grid x: spans of one block; y: pools. A
//                    thread takes its pieces through all moves in order.
//
// A piece is the widest that all addresses allow. The list of moves is a
// parameter of the kernel and needs no memory of the device. More moves than
// that holds are several launches, which run into one another where the GPU
// can: they have nothing in common.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/core/index_divisor.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {
namespace {

constexpr int kThreads = 256;
// CopyApartKernel counts them in 31 bits, and a CTA may reach past the last.
constexpr int64_t kMaxPieces = std::numeric_limits<int32_t>::max();

// One launch. A kernel's parameters may be 4 KB everywhere, and 32764 bytes
// since CUDA 12.1: one launch then moves what keeps the GPU busy for longer
// than a launch takes.
template <typename Move, int kMostMoves>
struct CopyParams {
  static constexpr int kMaxPools = 32;
  static constexpr int kMaxMoves = kMostMoves;

  BlockLayout layout;  // of each pool
  void* pools[kMaxPools] = {};
  Move moves[kMaxMoves] = {};
};
using FewApart = CopyParams<BlockMove, 450>;
#if CUDART_VERSION >= 12010
using ManyApart = CopyParams<BlockMove, 4040>;
#else
using ManyApart = FewApart;
#endif
using Chained = CopyParams<ChainedMove, 300>;
// Leaves room for the parameters beside it.
static_assert(sizeof(FewApart) <= 4096 - 64 && sizeof(Chained) <= 4096 - 64);
static_assert(sizeof(ManyApart) <= 32764 - 64);

// Few moves stay in the second cache, where bytes on their way count; many come
// from memory, where small threads that end soon do better.
template <typename Params>
inline constexpr int kPiecesPerThread = Params::kMaxMoves > 1000 ? 1 : 4;

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

// Lets the launch behind this one begin before this one has ended.
__device__ __forceinline__ void LetNextLaunchBegin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Of four pieces a thread, five CTAs per SM: 80 KB on their way, which an SM
// needs to be full.
template <typename Piece, typename Params>
__global__ void __launch_bounds__(kThreads, 5)
    CopyApartKernel(const __grid_constant__ Params p,
                    IndexDivisor block_of_piece, uint32_t pieces_per_block,
                    uint32_t num_pieces) {
  constexpr int kPieces = kPiecesPerThread<Params>;
  LetNextLaunchBegin();
  char* pool = static_cast<char*>(p.pools[blockIdx.y]);
  Piece moved[kPieces];
  Piece* targets[kPieces];  // null: past the last piece
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    const uint32_t at = (blockIdx.x * kPieces + i) * kThreads + threadIdx.x;
    targets[i] = nullptr;
    if (at >= num_pieces) continue;
    const uint32_t index = block_of_piece(at);
    const BlockMove move = p.moves[index];
    char* piece =
        pool + OffsetOfPiece<Piece>(p.layout, at - index * pieces_per_block);
    moved[i] = *reinterpret_cast<const Piece*>(
        piece + move.source * p.layout.block_stride);
    targets[i] = reinterpret_cast<Piece*>(piece + move.destination *
                                                      p.layout.block_stride);
  }
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    if (targets[i] != nullptr) *targets[i] = moved[i];
  }
  // Whoever waits for this launch has waited for the one before it.
  WaitForGridBefore();
}

template <typename Piece>
__global__ void __launch_bounds__(kThreads)
    CopyChainedKernel(const __grid_constant__ Chained p, int num_moves,
                      int64_t num_pieces) {
  const int64_t piece = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (piece >= num_pieces) return;
  char* at = static_cast<char*>(p.pools[blockIdx.y]) +
             OffsetOfPiece<Piece>(p.layout, piece);
  for (int i = 0; i < num_moves; ++i) {
    const ChainedMove move = p.moves[i];
    auto* source = reinterpret_cast<Piece*>(at + move.blocks.source *
                                                     p.layout.block_stride);
    auto* target = reinterpret_cast<Piece*>(at + move.blocks.destination *
                                                     p.layout.block_stride);
    const Piece moved = *source;
    if (move.swaps) *source = *target;
    *target = moved;
  }
}

// Calls `launch` with as many moves, and as many pools, as go in one, of like
// numbers of moves, and with whether it is the first.
template <typename Params, typename Move, typename Launch>
cudaError_t ForEachLaunch(const CopyList& list, std::span<const Move> moves,
                          std::size_t max_moves, const Launch& launch) {
  if (moves.empty()) return cudaSuccess;
  const std::size_t most = std::min<std::size_t>(Params::kMaxMoves, max_moves);
  const std::size_t num_launches = (moves.size() - 1) / most + 1;
  const std::size_t each = (moves.size() - 1) / num_launches + 1;
  Params params;
  params.layout = list.layout;
  for (std::size_t first = 0; first < moves.size(); first += each) {
    const std::size_t count = std::min(each, moves.size() - first);
    std::copy_n(moves.data() + first, count, params.moves);
    for (std::size_t pool = 0; pool < list.pools.size();
         pool += Params::kMaxPools) {
      const std::size_t num_pools =
          std::min<std::size_t>(Params::kMaxPools, list.pools.size() - pool);
      std::copy_n(list.pools.data() + pool, num_pools, params.pools);
      const bool is_first = first == 0 && pool == 0;
      const cudaError_t error = launch(params, count, num_pools, is_first);
      if (error != cudaSuccess) return error;
    }
  }
  return cudaSuccess;
}

LaunchShape ShapeOf(int64_t num_pieces, int64_t pieces_per_cta,
                    std::size_t num_pools) {
  const auto ctas =
      static_cast<unsigned>((num_pieces + pieces_per_cta - 1) / pieces_per_cta);
  return {.grid = dim3(ctas, static_cast<unsigned>(num_pools)),
          .threads = kThreads};
}

template <typename Piece, typename Params>
cudaError_t LaunchApart(const CopyList& list, cudaStream_t stream) {
  const int64_t pieces_per_block =
      list.layout.block_bytes() / static_cast<int64_t>(sizeof(Piece));
  return ForEachLaunch<Params>(
      list, list.apart, static_cast<std::size_t>(kMaxPieces / pieces_per_block),
      [&](const Params& params, std::size_t count, std::size_t num_pools,
          bool is_first) {
        const int64_t num_pieces =
            pieces_per_block * static_cast<int64_t>(count);
        LaunchShape shape =
            ShapeOf(num_pieces, kThreads * kPiecesPerThread<Params>, num_pools);
        shape.starts_early = !is_first;
        return LaunchKernel(
            &CopyApartKernel<Piece, Params>, shape, stream, params,
            IndexDivisor(static_cast<uint32_t>(pieces_per_block)),
            static_cast<uint32_t>(pieces_per_block),
            static_cast<uint32_t>(num_pieces));
      });
}

template <typename Piece>
cudaError_t LaunchChained(const CopyList& list,
                          std::span<const ChainedMove> moves,
                          cudaStream_t stream) {
  const int64_t num_pieces =
      list.layout.block_bytes() / static_cast<int64_t>(sizeof(Piece));
  return ForEachLaunch<Chained>(
      list, moves, Chained::kMaxMoves,
      [&](const Chained& params, std::size_t count, std::size_t num_pools,
          bool) {
        return LaunchKernel(&CopyChainedKernel<Piece>,
                            ShapeOf(num_pieces, kThreads, num_pools), stream,
                            params, static_cast<int>(count), num_pieces);
      });
}

template <typename Piece>
cudaError_t LaunchPieces(const CopyList& list, cudaStream_t stream) {
  cudaError_t error;
  if (list.layout.block_bytes() / static_cast<int64_t>(sizeof(Piece)) >
      kMaxPieces) {
    std::vector<ChainedMove> one_by_one;
    for (const BlockMove& move : list.apart) one_by_one.push_back({move});
    error = LaunchChained<Piece>(list, one_by_one, stream);
  } else if (list.apart.size() <=
             static_cast<std::size_t>(FewApart::kMaxMoves)) {
    error = LaunchApart<Piece, FewApart>(list, stream);
  } else {
    error = LaunchApart<Piece, ManyApart>(list, stream);
  }
  if (error != cudaSuccess) return error;
  return LaunchChained<Piece>(list, list.chained, stream);
}

}  // namespace

cudaError_t LaunchCopyBlocks(const CopyList& list, cudaStream_t stream) {
  const BlockLayout& layout = list.layout;
  uint64_t bits = static_cast<uint64_t>(layout.row_bytes) |
                  static_cast<uint64_t>(layout.block_stride) |
                  static_cast<uint64_t>(layout.outer_stride) |
                  static_cast<uint64_t>(layout.inner_stride);
  for (void* pool : list.pools) bits |= reinterpret_cast<uintptr_t>(pool);
  return WithWidestPiece(bits, [&]<typename Piece>(Piece) {
    return LaunchPieces<Piece>(list, stream);
  });
}

}  // namespace paged
