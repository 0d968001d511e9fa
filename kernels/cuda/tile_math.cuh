// The two products of a tile: Q with its keys, and the weights with its values.
//
// Here the rows of an mma are 16 of the item's rows, a row group; its columns
// are tokens in the first and dimensions in the second. Of a row group a lane
// has rows lane / 4 and lane / 4 + 8. What is read of a tile serves all row
// groups. Up to eight rows have products of their own (narrow_math.cuh).
#ifndef PAGED_KERNELS_CUDA_TILE_MATH_CUH_
#define PAGED_KERNELS_CUDA_TILE_MATH_CUH_

#include <cstdint>

#include "kernels/cuda/byte_elements.cuh"
#include "kernels/cuda/decode_instance.cuh"

namespace paged {

// Accumulators of a lane: of each row group, and each eight dimensions of 16
// rows, or 16 of eight.
template <IsDecodeInstance V>
using Columns = float[V::kValueDim * V::kMaxRows / V::kRowGroups / 128][4];
template <IsDecodeInstance V>
using Accumulators = Columns<V>[V::kRowGroups];

// Columns of 16 dimensions that the products go through; those of a general
// instance end with the problem's, or a little behind it: a look at every
// fourth leaves the others side by side. Two row groups lack the registers.
template <IsDecodeInstance V>
__device__ __forceinline__ bool IsPast(int step, int dim) {
  constexpr int kLook = V::kRowGroups == 1 ? 4 : 1;
  return V::kIsGeneral && step % kLook == 0 && step * 16 >= dim;
}

// Of elements of 16 bits.
template <IsDecodeInstance V>
struct WordMath {
  using Element = DeviceElement<V::kElement>;
  using Keys = typename V::Keys;
  using Values = typename V::Values;
  using Scores = paged::Scores<typename V::Layout>;

  static __device__ __forceinline__ void LoadQuery(uint32_t (&part)[4],
                                                   uint32_t query, int group,
                                                   int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    LoadMatrices(part,
                 V::Query::Move(query + V::Query::Offset(lane % 16, lane / 16),
                                group * kMmaRows, k * 2));
  }

  // Two chains of dependent products instead of one of twice the length: with
  // few warps on an SM their latency is what a tile costs (H200, 1 x 4096 on
  // one SM per kv head: 28.4 -> 26.3 us).
  template <typename QueryPart>
  static __device__ __forceinline__ void Score(
      const QueryPart& query, uint32_t keys, int key_dim,
      Scores (&scores)[V::kRowGroups]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t first =
        keys + Keys::Offset(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    Scores odd[V::kRowGroups] = {};
#pragma unroll
    for (int k = 0; k < V::kKeyDim / 16; ++k) {
      if (IsPast<V>(k, key_dim)) break;
      uint32_t m[4];
      LoadMatrices(m, Keys::Move(first, 0, k * 2));
#pragma unroll
      for (int g = 0; g < V::kRowGroups; ++g) {
        uint32_t part[4];
        query(part, g, k);
        Scores& sums = k % 2 == 0 ? scores[g] : odd[g];
        Element::Multiply(sums[0], part, m[0], m[1]);
        Element::Multiply(sums[1], part, m[2], m[3]);
      }
    }
    Add(scores, odd);
  }

  // values[g][i]: dimensions i * 8 + lane % 4 * 2 and the next of both rows.
  static __device__ __forceinline__ void AddValues(
      const uint32_t (&weights)[V::kRowGroups][4], uint32_t tile, int value_dim,
      Accumulators<V>& values) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t first = tile + Values::Offset(lane % 16, lane / 16);
#pragma unroll
    for (int n = 0; n < V::kValueDim / 16; ++n) {
      if (IsPast<V>(n, value_dim)) break;
      uint32_t m[4];
      LoadMatricesTransposed(m, Values::Move(first, 0, n * 2));
#pragma unroll
      for (int g = 0; g < V::kRowGroups; ++g) {
        Element::Multiply(values[g][n * 2], weights[g], m[0], m[1]);
        Element::Multiply(values[g][n * 2 + 1], weights[g], m[2], m[3]);
      }
    }
  }

  // A lane's part of one of its rows, to `line`, the row in float32.
  static __device__ __forceinline__ void StoreRow(float* line,
                                                  const Columns<V>& values,
                                                  int half) {
    line += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < V::kValueDim / 8; ++i) {
      *reinterpret_cast<float2*>(line + i * 8) = {values[i][half * 2],
                                                  values[i][half * 2 + 1]};
    }
  }

  static __device__ __forceinline__ void Add(
      Scores (&scores)[V::kRowGroups], const Scores (&more)[V::kRowGroups]) {
#pragma unroll
    for (int g = 0; g < V::kRowGroups; ++g) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) scores[g][n][j] += more[g][n][j];
      }
    }
  }
};

__device__ __forceinline__ uint32_t WordOf(const uint4& words, int i) {
  return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// Bytes: both dimensions of a token, then of the next. Turned into both tokens
// of a dimension, then of the next.
template <IsDecodeInstance V>
__device__ __forceinline__ HalfPairs PairsOfDimensions(uint32_t bytes) {
  return ToHalves<V::kElement>(__byte_perm(bytes, 0, 0x3120));
}

// Of elements of one byte, as fp16. The order of the dimensions in the first
// product is ours to choose, so a lane reads 16 bytes of a key at once, four of
// which are its part of each step; in the second, pairs of dimensions are what
// ldmatrix moves, and even and odd ones become columns of products of their
// own.
template <IsDecodeInstance V>
struct ByteMath {
  using Element = DeviceElement<ElementKind::kF16>;
  using Keys = typename V::Keys;
  using Values = typename V::Values;
  using Scores = paged::Scores<typename V::Layout>;

  // Step k covers bytes k % 4 * 4 and the next three of chunks k / 4 * 4 and
  // the next three, one of each lane of a row. In shared memory the query lies
  // as lanes load it, the four words of a step side by side: rows would take
  // four loads that meet in the banks, and as many moves of registers.
  static __device__ __forceinline__ int QueryOffset(int row, int dim) {
    const int lane = row % 8 * 4 + dim / 16 % 4;
    const int word = dim % 4 + row / 8 % 2;
    return StepOffset(row / kMmaRows, StepOf(dim), lane) + word * 4;
  }
  static __device__ __forceinline__ int StepOf(int dim) {
    return dim / 64 * 4 + dim % 16 / 4;
  }

  static __device__ __forceinline__ void LoadQuery(uint32_t (&part)[4],
                                                   uint32_t query, int group,
                                                   int k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint4 words =
        LoadShared16(query + static_cast<uint32_t>(StepOffset(group, k, lane)));
#pragma unroll
    for (int i = 0; i < 4; ++i) part[i] = WordOf(words, i);
  }

  template <typename QueryPart>
  static __device__ __forceinline__ void Score(
      const QueryPart& query, uint32_t keys, int key_dim,
      Scores (&scores)[V::kRowGroups]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const uint32_t first = keys + Keys::Offset(lane / 4, lane % 4);
    Scores odd[V::kRowGroups] = {};
#pragma unroll
    for (int h = 0; h < V::kKeyDim / 64; ++h) {
      if (V::kIsGeneral && h * 64 >= key_dim) break;
      uint4 chunks[2];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        chunks[n] = LoadShared16(Keys::Move(first, n * 8, h * 4));
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        HalfPairs pairs[2];
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          pairs[n] = ToHalves<V::kElement>(WordOf(chunks[n], i));
        }
#pragma unroll
        for (int g = 0; g < V::kRowGroups; ++g) {
          uint32_t part[4];
          query(part, g, h * 4 + i);
          Scores& sums = kHasOdd && i % 2 == 1 ? odd[g] : scores[g];
#pragma unroll
          for (int n = 0; n < 2; ++n) {
            Element::Multiply(sums[n], part, pairs[n].low, pairs[n].high);
          }
        }
      }
    }
    if (kHasOdd) WordMath<V>::Add(scores, odd);
  }

  // values[g][2 i] and values[g][2 i + 1]: of dimensions i * 16 + lane % 4 * 4
  // and the next three, the even and the odd ones of both rows.
  static __device__ __forceinline__ void AddValues(
      const uint32_t (&weights)[V::kRowGroups][4], uint32_t tile, int value_dim,
      Accumulators<V>& values) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
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
#pragma unroll
        for (int g = 0; g < V::kRowGroups; ++g) {
          Element::Multiply(values[g][(c + e) * 2], weights[g], early.low,
                            late.low);
          Element::Multiply(values[g][(c + e) * 2 + 1], weights[g], early.high,
                            late.high);
        }
      }
    }
  }

  static __device__ __forceinline__ void StoreRow(float* line,
                                                  const Columns<V>& values,
                                                  int half) {
    line += threadIdx.x % 4 * 4;
#pragma unroll
    for (int i = 0; i < V::kValueDim / 16; ++i) {
      const float(&even)[4] = values[i * 2];
      const float(&odd)[4] = values[i * 2 + 1];
      *reinterpret_cast<float4*>(line + i * 16) = {
          even[half * 2], odd[half * 2], even[half * 2 + 1], odd[half * 2 + 1]};
    }
  }

 private:
  // Two chains of products, as in WordMath; two row groups are two already, and
  // lack the registers.
  static constexpr bool kHasOdd = V::kRowGroups == 1;

  static __device__ __forceinline__ int StepOffset(int group, int step,
                                                   int lane) {
    return ((group * (V::kKeyDim / 16) + step) * 32 + lane) * 16;
  }
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_TILE_MATH_CUH_
