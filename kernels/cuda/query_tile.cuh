// The query on its way to the tensor cores: an item's rows in shared memory,
// [kMaxRows, key_dim] of 16 bits, swizzled like a tile; rows and dimensions
// that are not there become zeros.
#ifndef PAGED_KERNELS_CUDA_QUERY_TILE_CUH_
#define PAGED_KERNELS_CUDA_QUERY_TILE_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/any_element.cuh"
#include "kernels/cuda/tile_math.cuh"

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

// Queries of the cache's dtype. The CTA's threads share the copies out, and
// commit them as one group.
template <IsDecodeInstance V>
__device__ __forceinline__ void IssueQuery(const DecodeParams& p,
                                           const WorkItem& item, int kv_head,
                                           uint32_t shared) {
  using Layout = typename V::Query;
  const int num_chunks = V::kIsGeneral ? p.key_dim / 8 : Layout::kChunks;
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < V::kMaxRows * Layout::kChunks;
       i += V::kThreads) {
    const int row = i / Layout::kChunks;
    const int chunk = i % Layout::kChunks;
    const bool is_there = row < item.num_rows && chunk < num_chunks;
    const uint16_t* query =
        static_cast<const uint16_t*>(p.query.data) +
        QueryOffset<V>(p, item, kv_head, is_there ? row : 0) + chunk * 8;
    CopyAsync16OrZero(shared + Layout::Offset(row, chunk), query,
                      is_there ? 16 : 0);
  }
  CommitCopies();
}

// Queries of fp16 or bf16 as fp16. Those of bf16 are scaled by a power of two
// for each row, so that none is too large or needlessly small; the scales
// [kMaxRows] that take it back lie behind the rows.
template <IsDecodeInstance V>
__device__ __forceinline__ void ConvertQuery(const DecodeParams& p,
                                             const WorkItem& item, int kv_head,
                                             char* shared) {
  using Layout = typename V::Query;
  constexpr int kPairs = (V::kKeyDim + 63) / 64;  // of a lane
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* scales =
      reinterpret_cast<float*>(shared + V::kMaxRows * Layout::kRowBytes);
  for (int row = static_cast<int>(threadIdx.x) / 32; row < V::kMaxRows;
       row += V::kWarps) {
    const bool is_row = row < item.num_rows;
    const int64_t offset = QueryOffset<V>(p, item, kv_head, is_row ? row : 0);
    float2 pairs[kPairs];
    float max = 0.0f;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int dim = (i * 32 + lane) * 2;
      pairs[i] = is_row && dim < p.key_dim
                     ? LoadPair(p.query_element, p.query.data, offset + dim)
                     : float2{0.0f, 0.0f};
      max = fmaxf(max, fmaxf(fabsf(pairs[i].x), fabsf(pairs[i].y)));
    }
    float scale = 1.0f;
    if (p.query_element != ElementKind::kF16) {
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, step));
      }
      // The exponent of the largest, where it is a finite one; then 14 is what
      // remains of it, of the 15 that fp16 has.
      const int exponent = (__float_as_int(max) >> 23) - 127;
      if (exponent > -100 && exponent < 128) {
        scale = __int_as_float((exponent - 14 + 127) << 23);
      }
    }
    const float inverse = 1.0f / scale;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int dim = (i * 32 + lane) * 2;
      if (dim >= V::kKeyDim) break;
      *reinterpret_cast<uint32_t*>(shared + Layout::Offset(row, dim / 8) +
                                   dim % 8 * 2) =
          DeviceElement<ElementKind::kF16>::Pack(pairs[i].x * inverse,
                                                 pairs[i].y * inverse);
    }
    if (lane == 0) scales[row] = scale;
  }
}

// What the scores of one of a lane's rows are to be multiplied by.
template <IsDecodeInstance V>
__device__ __forceinline__ float QueryScale(const char* shared, int group,
                                            int half) {
  if constexpr (!V::kHasByteElements) return 1.0f;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return reinterpret_cast<const float*>(
      shared + V::kMaxRows *
                   V::Query::kRowBytes)[group * kMmaRows + lane / 4 + half * 8];
}

// Q as A fragments, the same in every warp: in registers, or as far away as
// shared memory.
template <IsDecodeInstance V>
class QueryFragments {
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
  __device__ __forceinline__ void operator()(uint32_t (&part)[4], int group,
                                             int k) const {
    if constexpr (V::kKeepsQuery) {
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] = parts_[group][k][i];
    } else {
      TileMath<V>::LoadQuery(part, shared_, group, k);
    }
  }

 private:
  static constexpr int kGroups = V::kKeepsQuery ? V::kRowGroups : 1;
  static constexpr int kSteps = V::kKeepsQuery ? V::kKeyDim / 16 : 1;

  uint32_t shared_;
  uint32_t parts_[kGroups][kSteps][4];
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_QUERY_TILE_CUH_
