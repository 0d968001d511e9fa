// Where the result of a work item goes: to the output, or to a partial.
#ifndef PAGED_KERNELS_CUDA_EPILOGUE_CUH_
#define PAGED_KERNELS_CUDA_EPILOGUE_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/core/score_rules.h"
#include "kernels/cuda/any_element.cuh"
#include "kernels/cuda/decode_instance.cuh"

namespace paged {

// Adds a part of a row, scaled to the common maximum. Every merge goes through
// here, so that equal parts give equal bits. What an empty part has in its
// values is nobody's business.
__device__ __forceinline__ void AddWeighted(float weight, float part_sum,
                                            float4 part, float& total,
                                            float4& sum) {
  if (part_sum == 0.0f) return;
  total += weight * part_sum;
  sum.x += weight * part.x;
  sum.y += weight * part.y;
  sum.z += weight * part.z;
  sum.w += weight * part.w;
}

// How rows end where nothing but their sum divides them: in the dtype of the
// instance.
template <ElementKind kQuery>
struct PlainOutput {
  static __device__ __forceinline__ RowEnd EndOf(const DecodeParams&,
                                                 SoftmaxState state, int) {
    return {InverseSum(state), Lse(state)};
  }
  static __device__ __forceinline__ int64_t Offset(const DecodeParams& p,
                                                   int seq, RowPlace place) {
    return OffsetOf(p.output, seq, place.token, place.q_head);
  }
  static __device__ __forceinline__ void Store(const DecodeParams& p,
                                               int64_t index, float4 x) {
    StoreAny(kQuery, p.output.data, index, x);
  }
};

// The same with everything that a problem may have.
struct GeneralOutput {
  static __device__ __forceinline__ RowEnd EndOf(const DecodeParams& p,
                                                 SoftmaxState state,
                                                 int q_head) {
    return paged::EndOf(p.rules, state, q_head);
  }
  static __device__ __forceinline__ int64_t Offset(const DecodeParams& p,
                                                   int seq, RowPlace place) {
    return RowOffset(p, p.output, seq, place);
  }
  static __device__ __forceinline__ void Store(const DecodeParams& p,
                                               int64_t index, float4 x) {
    StoreAny(p.query_element, p.output.data, index, x);
  }
};

template <IsDecodeInstance V>
using OutputOf =
    std::conditional_t<V::kIsPlain, PlainOutput<V::kElement>, GeneralOutput>;

// Normalises four dimensions of one row, and stores them at once; the row's
// first thread stores the lse.
template <typename Output>
__device__ __forceinline__ void StoreOutput(const DecodeParams& p, int seq,
                                            int kv_head, int row, int dim,
                                            SoftmaxState state, float4 x) {
  const RowPlace place = RowPlaceOf(p, kv_head, row);
  const RowEnd end = Output::EndOf(p, state, place.q_head);
  const float scale = end.factor * HeadScale(p.value_scales, kv_head);
  float4 result = {x.x * scale, x.y * scale, x.z * scale, x.w * scale};
  if (IsEmpty(state)) result = {0.0f, 0.0f, 0.0f, 0.0f};
  Output::Store(p, Output::Offset(p, seq, place) + dim, result);
  if (dim == 0 && p.lse != nullptr) p.lse[LseIndex(p, seq, place)] = end.lse;
}

// Stores four dimensions of a partial's row, unnormalised.
__device__ __forceinline__ void StorePartial(const DecodeParams& p,
                                             int64_t partial, int kv_head,
                                             int row_in_item, int dim,
                                             SoftmaxState state, float4 x) {
  const int64_t row = PartialRow(p, partial, kv_head, row_in_item);
  if (dim == 0) p.partials.states[row] = state;
  *reinterpret_cast<float4*>(p.partials.values + row * p.value_dim + dim) = x;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_EPILOGUE_CUH_
