// A row of new elements on its way to a cache, and the lanes that convert it.
#ifndef PAGED_KERNELS_CUDA_CODE_ROW_CUH_
#define PAGED_KERNELS_CUDA_CODE_ROW_CUH_

#include <math_constants.h>

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/core/quantise.h"
#include "kernels/cuda/code_words.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {

// Of a piece: 16 bytes of fp16 or bf16, and 8 of codes.
inline constexpr int kWidth = 8;
inline constexpr int kLaneBytes = 64;  // in registers

template <typename Source>
inline constexpr int kPieces = kLaneBytes /
                               (static_cast<int>(sizeof(Source)) * kWidth);

// One row, and the group that works on it.
template <typename Source, typename Code>
struct CodeRow {
  const Source* source;
  Code* target = nullptr;
  int dim;  // elements; 0 where there is no row
  int lane;
  int num_lanes;
};

// Calls `body` with each index of [0, count) that is this lane's.
template <typename Row, typename Body>
__device__ __forceinline__ void ForEach(const Row& row, int first, int count,
                                        const Body& body) {
#pragma unroll 1
  for (int at = first + row.lane; at < count; at += row.num_lanes) body(at);
}

// Of all lanes of the group; all lanes of the warp come here.
template <typename Value>
__device__ __forceinline__ Value LargestOfGroup(Value value, int num_lanes) {
  for (int lanes = num_lanes / 2; lanes > 0; lanes /= 2) {
    value = max(value, __shfl_xor_sync(kAllLanes, value, lanes));
  }
  return value;
}

// A row's pieces, as far as the registers of the group hold them.
template <typename Source>
class HeldPieces {
 public:
  using Piece = WordsOf<Source, kWidth>;

  template <typename Row>
  __device__ __forceinline__ HeldPieces(const Row& row, bool has_pieces)
      : source_(reinterpret_cast<const Piece*>(row.source)),
        has_pieces_(has_pieces),
        num_pieces_(has_pieces ? row.dim / kWidth : 0) {
#pragma unroll
    for (int i = 0; i < kPieces<Source>; ++i) {
      const int at = row.lane + i * row.num_lanes;
      pieces_[i] = at < num_pieces_ ? Load(source_ + at) : Piece{};
    }
  }

  // The row's largest magnitude, or NaN where one is NaN, or where there are no
  // pieces. What a lane does not hold is zeros.
  template <typename Row>
  __device__ __forceinline__ float LargestOf(const Row& row) const {
    if (!has_pieces_) return CUDART_NAN_F;
    uint32_t bits = 0;
#pragma unroll
    for (const Piece& piece : pieces_) {
      bits = max(bits, LargestMagnitude<Source, kWidth>(piece));
    }
    ForEach(row, kPieces<Source> * row.num_lanes, num_pieces_, [&](int at) {
      bits = max(bits, LargestMagnitude<Source, kWidth>(Load(source_ + at)));
    });
    return MagnitudeOf<Source>(LargestOfGroup(bits, row.num_lanes));
  }

  // Calls `body` with the number of each of this lane's pieces, and the piece.
  template <typename Row, typename Body>
  __device__ __forceinline__ void ForEachPiece(const Row& row,
                                               const Body& body) const {
#pragma unroll
    for (int i = 0; i < kPieces<Source>; ++i) {
      const int at = row.lane + i * row.num_lanes;
      if (at < num_pieces_) body(at, pieces_[i]);
    }
    ForEach(row, kPieces<Source> * row.num_lanes, num_pieces_,
            [&](int at) { body(at, Load(source_ + at)); });
  }

 private:
  const Piece* source_;
  bool has_pieces_;
  int num_pieces_;
  Piece pieces_[kPieces<Source>];
};

// The row's largest finite magnitude.
template <typename Row>
__device__ __forceinline__ float LargestFiniteOf(const Row& row) {
  float largest = 0.0f;
  ForEach(row, 0, row.dim, [&](int at) {
    largest = fmaxf(largest, FiniteMagnitude(ToFloat(row.source[at])));
  });
  return LargestOfGroup(largest, row.num_lanes);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_CODE_ROW_CUH_
