// The query on its way to the tensor cores: an item's rows in shared memory,
// [kMaxRows, key_dim] of 16 bits, swizzled like a tile, or over byte elements
// in the order of the products (ByteMath::QueryOffset); rows and dimensions
// that are not there become zeros.
#ifndef PAGED_KERNELS_CUDA_QUERY_TILE_CUH_
#define PAGED_KERNELS_CUDA_QUERY_TILE_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/any_element.cuh"
#include "kernels/cuda/narrow_math.cuh"

namespace paged {

// Elements from the query's data to a row.
template <IsDecodeInstance V>
__device__ __forceinline__ int64_t QueryOffset(const DecodeParams& p,
                                               const WorkItem& item,
                                               int kv_head, int row) {
  const RowPlace place = RowPlaceOf(p, kv_head, item.first_row + row);
  if constexpr (V::kIsGeneral) {
    return RowOffset(p, p.query, item.table_row, place);
  }
  return OffsetOf(p.query, item.table_row, place.token, place.q_head);
}

// Queries of the cache's dtype, which need no conversion. The CTA's threads
// share the copies out, as one group of them.
template <IsDecodeInstance V>
struct QueryCopies {
  __device__ __forceinline__ void Load(const DecodeParams& p,
                                       const WorkItem& item, int kv_head,
                                       char* shared) const {
    using Layout = typename V::Query;
    const uint32_t target = SharedAddress(shared);
    const int num_chunks = V::kIsGeneral ? p.key_dim / 8 : Layout::kChunks;
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x);
         i < V::kMaxRows * Layout::kChunks; i += V::kThreads) {
      const int row = i / Layout::kChunks;
      const int chunk = i % Layout::kChunks;
      const bool is_there = row < item.num_rows && chunk < num_chunks;
      const uint16_t* query =
          static_cast<const uint16_t*>(p.query.data) +
          QueryOffset<V>(p, item, kv_head, is_there ? row : 0) + chunk * 8;
      CopyAsync16OrZero(target + Layout::Offset(row, chunk), query,
                        is_there ? 16 : 0);
    }
    CommitCopies();
  }

  // After the ring was filled: older copies than those of its stages.
  __device__ __forceinline__ void Store(const DecodeParams&, char*) const {
    WaitForCopies<V::kStages - 1>();
  }
};

// Queries of fp16 or bf16 as fp16. Those of bf16 are scaled by a power of two
// for each row, so that none is too large or needlessly small; the scales
// [kMaxRows] that take it back lie behind the rows. Loads and stores are apart,
// so that what lies between hides the time of the loads.
template <IsDecodeInstance V>
class QueryRows {
  static constexpr int kPairs = (V::kKeyDim + 63) / 64;  // of a lane
  static constexpr int kRows = V::kMaxRows / V::kWarps;  // of a warp

 public:
  __device__ __forceinline__ void Load(const DecodeParams& p,
                                       const WorkItem& item, int kv_head,
                                       const char*) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = RowOf(r);
      const bool is_row = row < item.num_rows;
      const int64_t offset = QueryOffset<V>(p, item, kv_head, is_row ? row : 0);
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const int dim = (i * 32 + lane) * 2;
        bits_[r][i] = is_row && dim < p.key_dim
                          ? LoadPairBits(p.query.data, offset + dim)
                          : 0u;
      }
    }
  }

  __device__ __forceinline__ void Store(const DecodeParams& p,
                                        char* shared) const {
    using Layout = typename V::Query;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool is_fp16 = p.query_element == ElementKind::kF16;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float scale = is_fp16 ? 1.0f : ScaleOf(bits_[r]);
      const float inverse = 1.0f / scale;
#pragma unroll
      for (int i = 0; i < kPairs; ++i) {
        const int dim = (i * 32 + lane) * 2;
        if (dim >= V::kKeyDim) break;
        const float2 x = ToFloats<ElementKind::kBF16>(bits_[r][i]);
        *reinterpret_cast<uint32_t*>(shared +
                                     TileMath<V>::QueryOffset(RowOf(r), dim)) =
            is_fp16 ? bits_[r][i]
                    : DeviceElement<ElementKind::kF16>::Pack(x.x * inverse,
                                                             x.y * inverse);
      }
      if (lane == 0) {
        reinterpret_cast<float*>(
            shared + V::kMaxRows * Layout::kRowBytes)[RowOf(r)] = scale;
      }
    }
  }

 private:
  static __device__ __forceinline__ int RowOf(int r) {
    return static_cast<int>(threadIdx.x) / 32 + r * V::kWarps;
  }

  // Of a row of bf16: with it the exponent of the largest element is 14, of the
  // 15 that fp16 has.
  static __device__ __forceinline__ float ScaleOf(
      const uint32_t (&bits)[kPairs]) {
    float max = 0.0f;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const float2 x = ToFloats<ElementKind::kBF16>(bits[i]);
      max = fmaxf(max, fmaxf(fabsf(x.x), fabsf(x.y)));
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, step));
    }
    const int exponent = (__float_as_int(max) >> 23) - 127;
    // Zeros, next to nothing, and infinities stay what they are.
    if (exponent <= -100 || exponent >= 128) return 1.0f;
    return __int_as_float((exponent - 14 + 127) << 23);
  }

  uint32_t bits_[kRows][kPairs];
};

// What the scores of one of a lane's rows are to be multiplied by.
template <IsDecodeInstance V>
__device__ __forceinline__ float QueryScale(const char* shared, int group,
                                            int half) {
  if constexpr (!V::kHasByteElements) return 1.0f;
  return reinterpret_cast<const float*>(
      shared +
      V::kMaxRows *
          V::Query::kRowBytes)[group * V::Layout::kRows + V::Layout::Row(half)];
}

// Q as fragments, the same in every warp: in registers, or as far away as
// shared memory.
template <IsDecodeInstance V>
class QueryFragments {
  static constexpr int kWords = V::Layout::kQueryWords;

 public:
  __device__ __forceinline__ void Load(uint32_t shared) {
    shared_ = shared;
    if constexpr (V::kKeepsQuery) {
#pragma unroll
      for (int g = 0; g < V::kRowGroups; ++g) {
#pragma unroll
        for (int k = 0; k < V::kKeyDim / 16; ++k) {
          TileMath<V>::LoadQuery(parts_[g][k], shared, g, k);
        }
      }
    }
  }

  // Step k of a row group.
  __device__ __forceinline__ void operator()(uint32_t (&part)[kWords],
                                             int group, int k) const {
    if constexpr (V::kKeepsQuery) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) part[i] = parts_[group][k][i];
    } else {
      TileMath<V>::LoadQuery(part, shared_, group, k);
    }
  }

 private:
  static constexpr int kGroups = V::kKeepsQuery ? V::kRowGroups : 1;
  static constexpr int kSteps = V::kKeepsQuery ? V::kKeyDim / 16 : 1;

  uint32_t shared_;
  uint32_t parts_[kGroups][kSteps][kWords];
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_QUERY_TILE_CUH_
