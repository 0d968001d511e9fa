// One step of the softmax: scores of a stage's tiles to weights of their
// values, and what was accumulated to the new maximum.
#ifndef PAGED_KERNELS_CUDA_SOFTMAX_STEP_CUH_
#define PAGED_KERNELS_CUDA_SOFTMAX_STEP_CUH_

#include <cstdint>

#include "kernels/core/online_softmax.h"
#include "kernels/cuda/lane_rules.cuh"
#include "kernels/cuda/tile_math.cuh"
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

__device__ __forceinline__ void Scale(const float (&scales)[2],
                                      Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] *= scales[j / 2];
  }
}

// By the scales [kTileTokens] of the keys of a tile.
__device__ __forceinline__ void ScaleByToken(uint32_t scales, Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const float2 pair =
        LoadSharedFloats(scales + (n * 8 + threadIdx.x % 4 * 2) * 4);
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] *= j % 2 == 0 ? pair.x : pair.y;
  }
}

__device__ __forceinline__ void AddExponents(const TokenScales& scales,
                                             Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] += scales.exponents[n][j % 2];
  }
}

// The scores of a tile that is not there.
__device__ __forceinline__ void MaskAll(Scores& scores) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[n][j] = -INFINITY;
  }
}

// Raises the maxima of a row group to those of the tiles, and rescales what was
// accumulated where they grew: after a few tiles they seldom do.
template <int kTiles, int kGroups, int kColumns>
__device__ __forceinline__ void RaiseMax(
    const Scores (&scores)[kTiles][kGroups], int group, RowPair& rows,
    float (&values)[kColumns][4]) {
  float tile_max[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float x = -INFINITY;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const float(&pair)[4] = scores[t][group][n];
        x = fmaxf(x, fmaxf(pair[half * 2], pair[half * 2 + 1]));
      }
    }
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
    tile_max[half] = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
  }
  if (!__any_sync(kAllLanes,
                  tile_max[0] > rows.max[0] || tile_max[1] > rows.max[1])) {
    return;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float max = fmaxf(rows.max[half], tile_max[half]);
    const float safe_max = max == -INFINITY ? 0.0f : max;
    const float keep = Exp2(rows.max[half] - safe_max);
    rows.max[half] = max;
    rows.safe_max[half] = safe_max;
    rows.sum[half] *= keep;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      values[i][half * 2] *= keep;
      values[i][half * 2 + 1] *= keep;
    }
  }
}

// Turns scores into weights, as the A fragment of the product with V.
template <typename Element>
__device__ __forceinline__ void Weigh(const Scores& scores, RowPair& rows,
                                      uint32_t (&weights)[4]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float low = Exp2(scores[n][half * 2] - rows.safe_max[half]);
      const float high = Exp2(scores[n][half * 2 + 1] - rows.safe_max[half]);
      rows.sum[half] += low + high;
      weights[n * 2 + half] = Element::Pack(low, high);
    }
  }
}

// The same of scores that the exponents of the values' scales have joined.
template <typename Element>
__device__ __forceinline__ void WeighScaled(const Scores& scores,
                                            const TokenScales& scales,
                                            RowPair& rows,
                                            uint32_t (&weights)[4]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float pair[2];
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float weight =
            Exp2(scores[n][half * 2 + j] - rows.safe_max[half]);
        rows.sum[half] += weight * Exp2(-scales.exponents[n][j]);
        pair[j] = copysignf(weight, scales.values[n][j]);
      }
      weights[n * 2 + half] = Element::Pack(pair[0], pair[1]);
    }
  }
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_SOFTMAX_STEP_CUH_
