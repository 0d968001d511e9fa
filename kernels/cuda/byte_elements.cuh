// Keys and values of one byte as operands of 16-bit products: every code of the
// three types is a number of fp16.
#ifndef PAGED_KERNELS_CUDA_BYTE_ELEMENTS_CUH_
#define PAGED_KERNELS_CUDA_BYTE_ELEMENTS_CUH_

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/core/dtype.h"

namespace paged {

// Two pairs of fp16: bytes 0 and 1 of a word, and bytes 2 and 3.
struct HalfPairs {
  uint32_t low;
  uint32_t high;
};

template <ElementKind kElement>
__device__ __forceinline__ HalfPairs ToHalves(uint32_t bytes);

// The exponent's bias moves from 7 to 15, by a product that is exact, and makes
// subnormals normal. Where the hardware converts, it does.
template <>
__device__ __forceinline__ HalfPairs
ToHalves<ElementKind::kE4M3>(uint32_t bytes) {
  HalfPairs pairs;
#if __CUDA_ARCH__ >= 890
  asm("{.reg .b16 low, high;\n"
      "mov.b32 {low, high}, %2;\n"
      "cvt.rn.f16x2.e4m3x2 %0, low;\n"
      "cvt.rn.f16x2.e4m3x2 %1, high;}"
      : "=r"(pairs.low), "=r"(pairs.high)
      : "r"(bytes));
#else
  const auto convert = [](uint32_t pair) {
    const uint32_t magnitude = (pair & 0x7f007f00u) >> 1;
    const __half2 scaled =
        __hmul2(*reinterpret_cast<const __half2*>(&magnitude),
                __half2half2(__ushort_as_half(0x5c00)));  // 2^8
    uint32_t bits = *reinterpret_cast<const uint32_t*>(&scaled);
    // All bits set but the sign: NaN.
    if ((pair & 0x7f00u) == 0x7f00u) bits |= 0x7fffu;
    if ((pair & 0x7f000000u) == 0x7f000000u) bits |= 0x7fff0000u;
    return bits | (pair & 0x80008000u);
  };
  pairs.low = convert(__byte_perm(bytes, 0, 0x1404));
  pairs.high = convert(__byte_perm(bytes, 0, 0x3424));
#endif
  return pairs;
}

// The upper half of an fp16.
template <>
__device__ __forceinline__ HalfPairs
ToHalves<ElementKind::kE5M2>(uint32_t bytes) {
  return {__byte_perm(bytes, 0, 0x1404), __byte_perm(bytes, 0, 0x3424)};
}

// 1024 + x + 128 is the fp16 whose upper byte is that of 1024 and whose lower
// one is x + 128.
template <>
__device__ __forceinline__ HalfPairs
ToHalves<ElementKind::kInt8>(uint32_t bytes) {
  const __half2 offset = __half2half2(__ushort_as_half(0x6480));  // 1152
  const auto convert = [&](uint32_t bits) {
    const __half2 x = __hsub2(*reinterpret_cast<const __half2*>(&bits), offset);
    return *reinterpret_cast<const uint32_t*>(&x);
  };
  // By immediates: one register more, and 32 rows would spill.
  constexpr uint32_t kOf1152 = 0x64806480;
  return {convert(__byte_perm(bytes, 0, 0x4140) ^ kOf1152),
          convert(__byte_perm(bytes, 0, 0x4342) ^ kOf1152)};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_BYTE_ELEMENTS_CUH_
