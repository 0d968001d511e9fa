// The two products of a tile for at most eight rows of Q, which are the columns
// of an mma: its rows are the tile's tokens in the first, and dimensions in the
// second. Half of the products of tile_math.cuh.
#ifndef PAGED_KERNELS_CUDA_NARROW_MATH_CUH_
#define PAGED_KERNELS_CUDA_NARROW_MATH_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/byte_elements.cuh"
#include "kernels/cuda/tile_math.cuh"

namespace paged {

// Of elements of 16 bits.
template <IsDecodeInstance V>
struct NarrowWordMath {
  using Element = DeviceElement<V::kElement>;
  using Keys = typename V::Keys;
  using Values = typename V::Values;
  using Scores = paged::Scores<typename V::Layout>;

  static __device__ __forceinline__ void LoadQuery(uint32_t (&part)[2],
                                                   uint32_t query, int, int k) {
    const int lane = ThisLane();
    LoadMatrices(
        part, V::Query::Move(query + V::Query::Offset(lane % 8, lane / 8 % 2),
                             0, k * 2));
  }

  // Two chains of dependent products, as in WordMath.
  template <typename QueryPart>
  static __device__ __forceinline__ void Score(const QueryPart& query,
                                               uint32_t keys, int key_dim,
                                               Scores (&scores)[1]) {
    const int lane = ThisLane();
    const uint32_t first = keys + Keys::Offset(lane % 16, lane / 16);
    float odd[4] = {};
#pragma unroll
    for (int k = 0; k < V::kKeyDim / 16; ++k) {
      if (IsPast<V>(k, key_dim)) break;
      uint32_t m[4];
      LoadMatrices(m, Keys::Move(first, 0, k * 2));
      uint32_t part[2];
      query(part, 0, k);
      Element::Multiply(k % 2 == 0 ? scores[0][0] : odd, m, part[0], part[1]);
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[0][0][j] += odd[j];
  }

  // values[0][i][j]: dimension i * 16 + lane / 4 + j / 2 * 8 of row j % 2.
  static __device__ __forceinline__ void AddValues(
      const uint32_t (&weights)[1][2], uint32_t tile, int value_dim,
      Accumulators<V>& values) {
    const int lane = ThisLane();
    const uint32_t first =
        tile + Values::Offset(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
    for (int n = 0; n < V::kValueDim / 16; ++n) {
      if (IsPast<V>(n, value_dim)) break;
      uint32_t m[4];
      LoadMatricesTransposed(m, Values::Move(first, 0, n * 2));
      Element::Multiply(values[0][n], m, weights[0][0], weights[0][1]);
    }
  }

  static __device__ __forceinline__ void StoreRow(float* line,
                                                  const Columns<V>& values,
                                                  int half) {
    line += ThisLane() / 4;
#pragma unroll
    for (int i = 0; i < V::kValueDim / 16; ++i) {
      line[i * 16] = values[i][half];
      line[i * 16 + 8] = values[i][half + 2];
    }
  }
};

// Of elements of one byte, as fp16; what is ours to order is ordered as in
// ByteMath.
template <IsDecodeInstance V>
struct NarrowByteMath {
  using Element = DeviceElement<ElementKind::kF16>;
  using Keys = typename V::Keys;
  using Values = typename V::Values;
  using Scores = paged::Scores<typename V::Layout>;

  static __device__ __forceinline__ int QueryOffset(int row, int dim) {
    const int lane = row * 4 + dim / 16 % 4;
    const int word = dim % 4 / 2;
    return StepOffset(ByteMath<V>::StepOf(dim), lane) + word * 4;
  }

  static __device__ __forceinline__ void LoadQuery(uint32_t (&part)[2],
                                                   uint32_t query, int, int k) {
    const uint2 words =
        LoadShared8(query + static_cast<uint32_t>(StepOffset(k, ThisLane())));
    part[0] = words.x;
    part[1] = words.y;
  }

  template <typename QueryPart>
  static __device__ __forceinline__ void Score(const QueryPart& query,
                                               uint32_t keys, int key_dim,
                                               Scores (&scores)[1]) {
    const int lane = ThisLane();
    const uint32_t first = keys + Keys::Offset(lane / 4, lane % 4);
    float odd[4] = {};
#pragma unroll
    for (int h = 0; h < V::kKeyDim / 64; ++h) {
      if (V::kIsGeneral && h * 64 >= key_dim) break;
      const uint4 early = LoadShared16(Keys::Move(first, 0, h * 4));
      const uint4 late = LoadShared16(Keys::Move(first, 8, h * 4));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const HalfPairs upper = ToHalves<V::kElement>(WordOf(early, i));
        const HalfPairs lower = ToHalves<V::kElement>(WordOf(late, i));
        const uint32_t m[4] = {upper.low, lower.low, upper.high, lower.high};
        uint32_t part[2];
        query(part, 0, h * 4 + i);
        Element::Multiply(i % 2 == 0 ? scores[0][0] : odd, m, part[0], part[1]);
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) scores[0][0][j] += odd[j];
  }

  // values[0][i][j]: dimension i * 16 + lane / 4 * 2 + j / 2 of row j % 2. The
  // even dimensions of a lane are the upper rows of the product.
  static __device__ __forceinline__ void AddValues(
      const uint32_t (&weights)[1][2], uint32_t tile, int value_dim,
      Accumulators<V>& values) {
    const int lane = ThisLane();
    const uint32_t first = tile + Values::Offset(lane % 16, lane / 16);
#pragma unroll
    for (int c = 0; c < V::kValueDim / 16; c += 2) {
      if (IsPast<V>(c, value_dim)) break;
      uint32_t m[4];
      LoadMatricesTransposed(m, Values::Move(first, 0, c));
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const HalfPairs early = PairsOfDimensions<V>(m[e * 2]);
        const HalfPairs late = PairsOfDimensions<V>(m[e * 2 + 1]);
        const uint32_t a[4] = {early.low, early.high, late.low, late.high};
        Element::Multiply(values[0][c + e], a, weights[0][0], weights[0][1]);
      }
    }
  }

  static __device__ __forceinline__ void StoreRow(float* line,
                                                  const Columns<V>& values,
                                                  int half) {
    line += ThisLane() / 4 * 2;
#pragma unroll
    for (int i = 0; i < V::kValueDim / 16; ++i) {
      *reinterpret_cast<float2*>(line + i * 16) = {values[i][half],
                                                   values[i][half + 2]};
    }
  }

 private:
  static __device__ __forceinline__ int StepOffset(int step, int lane) {
    return (step * 32 + lane) * 8;
  }
};

template <IsDecodeInstance V>
using TileMath = std::conditional_t<
    V::kIsNarrow,
    std::conditional_t<V::kHasByteElements, NarrowByteMath<V>,
                       NarrowWordMath<V>>,
    std::conditional_t<V::kHasByteElements, ByteMath<V>, WordMath<V>>>;

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_NARROW_MATH_CUH_
