// Where the result of a work item goes: to the output, or to a partial.
#ifndef PAGED_KERNELS_CUDA_EPILOGUE_CUH_
#define PAGED_KERNELS_CUDA_EPILOGUE_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/ptx.cuh"

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

// Normalises four dimensions of one row, and stores them with 8 bytes; the
// row's first thread stores the lse.
template <typename Element>
__device__ __forceinline__ void StoreOutput(const DecodeParams& p, int seq,
                                            int kv_head, int row, int dim,
                                            SoftmaxState state, float4 x) {
  const RowPlace place = RowPlaceOf(p, kv_head, row);
  const float scale = InverseSum(state);
  uint2 packed = {Element::Pack(x.x * scale, x.y * scale),
                  Element::Pack(x.z * scale, x.w * scale)};
  if (IsEmpty(state)) packed = {0u, 0u};
  uint16_t* output = static_cast<uint16_t*>(p.output.data) +
                     OffsetOf(p.output, seq, place.token, place.q_head) + dim;
  *reinterpret_cast<uint2*>(output) = packed;
  if (dim == 0 && p.lse != nullptr) p.lse[LseIndex(p, seq, place)] = Lse(state);
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
