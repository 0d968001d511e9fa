// One step of the softmax: scores of a stage's tiles to weights of their
// values, and what was accumulated to the new maximum.
#ifndef PAGED_KERNELS_CUDA_SOFTMAX_STEP_CUH_
#define PAGED_KERNELS_CUDA_SOFTMAX_STEP_CUH_

#include <cstdint>

#include "kernels/core/online_softmax.h"
#include "kernels/cuda/fragment_layout.cuh"
#include "kernels/cuda/lane_rules.cuh"
#include "kernels/cuda/tile_math.cuh"
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

template <typename Layout>
__device__ __forceinline__ void Scale(const float (&scales)[2],
                                      Scores<Layout>& scores) {
#pragma unroll
  for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] *= scales[Layout::HalfOf(j)];
  }
}

// By the scales [kTileTokens] of the keys of a tile.
template <typename Layout>
__device__ __forceinline__ void ScaleByToken(uint32_t scales,
                                             Scores<Layout>& scores) {
  float factors[Layout::kTokens];
#pragma unroll
  for (int i = 0; i < Layout::kTokens; ++i) {
    factors[i] = LoadSharedFloat(scales + Layout::Place(i) * 4);
  }
#pragma unroll
  for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] *= factors[Layout::TokenOf(n, j)];
  }
}

template <typename Layout>
__device__ __forceinline__ void AddExponents(const TokenScales<Layout>& scales,
                                             Scores<Layout>& scores) {
#pragma unroll
  for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      scores[n][j] += scales.exponents[Layout::TokenOf(n, j)];
    }
  }
}

// The scores of a tile that is not there.
template <typename Layout>
__device__ __forceinline__ void MaskAll(Scores<Layout>& scores) {
#pragma unroll
  for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] = -INFINITY;
  }
}

// By how much scores may exceed a row's maximum, base 2, before it is raised:
// weights of 256 are as exact in 16 bits as those of 1, and few scores exceed
// the first tile's by so much.
inline constexpr float kMaxSlack = 8.0f;

// Raises the maxima of a row group where those of the tiles exceed them by more
// than the slack, and rescales what was accumulated. Each row by itself, so
// that its bits do not depend on others.
template <typename Layout, int kTiles, int kGroups, int kColumns>
__device__ __forceinline__ void RaiseMax(
    const Scores<Layout> (&scores)[kTiles][kGroups], int group, RowPair& rows,
    float (&values)[kColumns][4]) {
  float tile_max[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int t = 0; t < kTiles; ++t) {
#pragma unroll
    for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& max = tile_max[Layout::HalfOf(j)];
        max = fmaxf(max, scores[t][group][n][j]);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    tile_max[half] = OverSharers<Layout>(
        tile_max[half], [](float a, float b) { return fmaxf(a, b); });
  }
  const bool rises[2] = {tile_max[0] > rows.max[0] + kMaxSlack,
                         tile_max[1] > rows.max[1] + kMaxSlack};
  if (!__any_sync(kAllLanes, rises[0] || rises[1])) return;
  float keep[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float max = rises[half] ? tile_max[half] : rows.max[half];
    const float safe_max = max == -INFINITY ? 0.0f : max;
    keep[half] = Exp2(rows.max[half] - safe_max);
    rows.max[half] = max;
    rows.safe_max[half] = safe_max;
    rows.sum[half] *= keep[half];
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) values[i][j] *= keep[Layout::HalfOf(j)];
  }
}

// Turns scores into weights, as an operand of the product with V.
template <typename Layout, typename Element>
__device__ __forceinline__ void Weigh(
    const Scores<Layout>& scores, RowPair& rows,
    uint32_t (&weights)[Layout::kWeightWords]) {
#pragma unroll
  for (int n = 0; n < Layout::kParts; ++n) {
    float x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      x[j] = Exp2(scores[n][j] - rows.safe_max[Layout::HalfOf(j)]);
      rows.sum[Layout::HalfOf(j)] += x[j];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      weights[n * 2 + i] =
          Layout::ToOperand(Element::Pack(x[i * 2], x[i * 2 + 1]));
    }
  }
}

// The same of scores that the exponents of the values' scales have joined.
template <typename Layout, typename Element>
__device__ __forceinline__ void WeighScaled(
    const Scores<Layout>& scores, const TokenScales<Layout>& scales,
    RowPair& rows, uint32_t (&weights)[Layout::kWeightWords]) {
#pragma unroll
  for (int n = 0; n < Layout::kParts; ++n) {
    float x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int token = Layout::TokenOf(n, j);
      const float weight =
          Exp2(scores[n][j] - rows.safe_max[Layout::HalfOf(j)]);
      rows.sum[Layout::HalfOf(j)] += weight * Exp2(-scales.exponents[token]);
      x[j] = copysignf(weight, scales.values[token]);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      weights[n * 2 + i] =
          Layout::ToOperand(Element::Pack(x[i * 2], x[i * 2 + 1]));
    }
  }
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_SOFTMAX_STEP_CUH_
