// Elements of memory as float32, whatever their dtype.
#ifndef PAGED_KERNELS_CUDA_ANY_ELEMENT_CUH_
#define PAGED_KERNELS_CUDA_ANY_ELEMENT_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/cuda/byte_elements.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {

// Two elements of 16 bits.
template <ElementKind kElement>
__device__ __forceinline__ float2 ToFloats(uint32_t pair) {
  if constexpr (kElement == ElementKind::kBF16) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000u)};
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

// Four neighbours, at a multiple of four elements.
template <ElementKind kElement>
__device__ __forceinline__ float4 LoadFour(const void* data) {
  if constexpr (kElement == ElementKind::kF32) {
    return __ldg(static_cast<const float4*>(data));
  } else if constexpr (BytesOf(kElement) == 2) {
    const uint2 words = __ldg(static_cast<const uint2*>(data));
    const float2 low = ToFloats<kElement>(words.x);
    const float2 high = ToFloats<kElement>(words.y);
    return {low.x, low.y, high.x, high.y};
  } else {
    const HalfPairs pairs =
        ToHalves<kElement>(__ldg(static_cast<const uint32_t*>(data)));
    const float2 low = ToFloats<ElementKind::kF16>(pairs.low);
    const float2 high = ToFloats<ElementKind::kF16>(pairs.high);
    return {low.x, low.y, high.x, high.y};
  }
}

// Eight neighbours, at a multiple of eight elements.
template <ElementKind kElement>
__device__ __forceinline__ void LoadEight(const void* data, float (&x)[8]) {
  float4 quads[2];
  if constexpr (BytesOf(kElement) == 2) {
    const uint4 words = __ldg(static_cast<const uint4*>(data));
    const float2 pairs[4] = {
        ToFloats<kElement>(words.x), ToFloats<kElement>(words.y),
        ToFloats<kElement>(words.z), ToFloats<kElement>(words.w)};
    quads[0] = {pairs[0].x, pairs[0].y, pairs[1].x, pairs[1].y};
    quads[1] = {pairs[2].x, pairs[2].y, pairs[3].x, pairs[3].y};
  } else {
    const char* bytes = static_cast<const char*>(data);
    quads[0] = LoadFour<kElement>(bytes);
    quads[1] = LoadFour<kElement>(bytes + 4 * BytesOf(kElement));
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    x[i * 4] = quads[i].x;
    x[i * 4 + 1] = quads[i].y;
    x[i * 4 + 2] = quads[i].z;
    x[i * 4 + 3] = quads[i].w;
  }
}

// Queries and outputs, whose dtype is known when the kernel runs.
__device__ __forceinline__ float LoadAny(ElementKind element, const void* data,
                                         int64_t index) {
  if (element == ElementKind::kF32) {
    return static_cast<const float*>(data)[index];
  }
  const uint32_t bits = static_cast<const uint16_t*>(data)[index];
  return element == ElementKind::kBF16 ? ToFloats<ElementKind::kBF16>(bits).x
                                       : ToFloats<ElementKind::kF16>(bits).x;
}

// Two neighbours of 16 bits, at an even index.
__device__ __forceinline__ uint32_t LoadPairBits(const void* data,
                                                 int64_t index) {
  return __ldg(reinterpret_cast<const uint32_t*>(
      static_cast<const uint16_t*>(data) + index));
}

__device__ __forceinline__ void StoreOne(ElementKind element, void* data,
                                         int64_t index, float x) {
  if (element == ElementKind::kF32) {
    static_cast<float*>(data)[index] = x;
  } else if (element == ElementKind::kBF16) {
    static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16_rn(x);
  } else {
    static_cast<__half*>(data)[index] = __float2half_rn(x);
  }
}

// Four neighbours.
__device__ __forceinline__ void StoreAny(ElementKind element, void* data,
                                         int64_t index, float4 x) {
  if (element == ElementKind::kF32) {
    *reinterpret_cast<float4*>(static_cast<float*>(data) + index) = x;
    return;
  }
  const uint2 packed =
      element == ElementKind::kBF16
          ? uint2{DeviceElement<ElementKind::kBF16>::Pack(x.x, x.y),
                  DeviceElement<ElementKind::kBF16>::Pack(x.z, x.w)}
          : uint2{DeviceElement<ElementKind::kF16>::Pack(x.x, x.y),
                  DeviceElement<ElementKind::kF16>::Pack(x.z, x.w)};
  *reinterpret_cast<uint2*>(static_cast<uint16_t*>(data) + index) = packed;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_ANY_ELEMENT_CUH_
