// Which scores a lane has of a tile's product with a row group, and so which
// rows of Q are the lane's: two of them, each shared with other lanes that have
// other tokens.
#ifndef PAGED_KERNELS_CUDA_FRAGMENT_LAYOUT_CUH_
#define PAGED_KERNELS_CUDA_FRAGMENT_LAYOUT_CUH_

#include <cstdint>

#include "kernels/cuda/ptx.cuh"

namespace paged {

__device__ __forceinline__ int ThisLane() {
  return static_cast<int>(threadIdx.x) % 32;
}

// The rows of an mma are 16 rows of Q, its columns tokens: two products a tile.
struct RowsOfQuery {
  static constexpr int kRows = 16;        // of a group
  static constexpr int kParts = 2;        // products of a tile, scores[part][4]
  static constexpr int kTokens = 4;       // of a lane in a tile
  static constexpr int kWeightWords = 4;  // the A operand of the second product
  static constexpr int kQueryWords = 4;   // the A operand of the first
  // Lanes at these distances have the same rows.
  static constexpr int kFirstSharer = 1;
  static constexpr int kEndOfSharers = 4;

  static __device__ __forceinline__ int Row(int half) {
    return ThisLane() / 4 + half * 8;
  }
  static constexpr __device__ int HalfOf(int j) { return j / 2; }
  static constexpr __device__ int TokenOf(int part, int j) {
    return part * 2 + j % 2;
  }
  // Place in the tile of the lane's `token`-th.
  static __device__ __forceinline__ int Place(int token) {
    return token / 2 * 8 + ThisLane() % 4 * 2 + token % 2;
  }
  static __device__ __forceinline__ bool IsFirstOfRow() {
    return ThisLane() % 4 == 0;
  }
  // Two weights that follow one another in a lane, as the operand has them.
  static __device__ __forceinline__ uint32_t ToOperand(uint32_t pair) {
    return pair;
  }
};

// The rows of an mma are the 16 tokens, its columns 8 rows of Q: half of the
// products, and of the registers that accumulate.
struct RowsOfTokens {
  static constexpr int kRows = 8;
  static constexpr int kParts = 1;
  static constexpr int kTokens = 2;
  static constexpr int kWeightWords = 2;  // the B operand of the second product
  static constexpr int kQueryWords = 2;
  static constexpr int kFirstSharer = 4;
  static constexpr int kEndOfSharers = 32;

  static __device__ __forceinline__ int Row(int half) {
    return ThisLane() % 4 * 2 + half;
  }
  static constexpr __device__ int HalfOf(int j) { return j % 2; }
  static constexpr __device__ int TokenOf(int, int j) { return j / 2; }
  static __device__ __forceinline__ int Place(int token) {
    return ThisLane() / 4 + token * 8;
  }
  static __device__ __forceinline__ bool IsFirstOfRow() {
    return ThisLane() < 4;
  }
  // The pair is of one token and two rows; the operand wants two tokens of one.
  static __device__ __forceinline__ uint32_t ToOperand(uint32_t pair) {
    return Transposed(pair);
  }
};

// Scores of a lane in a tile: [part][j] is of its row HalfOf(j) and of its
// token TokenOf(part, j).
template <typename Layout>
using Scores = float[Layout::kParts][4];

// Combines what the lanes of a row have.
template <typename Layout, typename Combine>
__device__ __forceinline__ float OverSharers(float x, const Combine& combine) {
#pragma unroll
  for (int step = Layout::kFirstSharer; step < Layout::kEndOfSharers;
       step *= 2) {
    x = combine(x, __shfl_xor_sync(kAllLanes, x, step));
  }
  return x;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_FRAGMENT_LAYOUT_CUH_
