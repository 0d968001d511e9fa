// Elements side by side, as a lane loads, converts and stores them.
#ifndef PAGED_KERNELS_CUDA_CODE_WORDS_CUH_
#define PAGED_KERNELS_CUDA_CODE_WORDS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/core/dtype.h"
#include "kernels/cuda/ptx.cuh"

namespace paged {

// As many bytes as a load or a store wants them; elements ascend from the low
// end of the first word.
template <int kBytes>
struct alignas(kBytes < 16 ? kBytes : 16) Words {
  static constexpr int kCount = kBytes / 4;
  uint32_t words[kCount];
};

template <typename Element, int kWidth>
using WordsOf = Words<static_cast<int>(sizeof(Element)) * kWidth>;

// In loads of 16 bytes.
template <int kBytes>
__device__ __forceinline__ Words<kBytes> Load(const Words<kBytes>* from) {
  Words<kBytes> loaded;
#pragma unroll
  for (int i = 0; i < kBytes / 16; ++i) {
    const uint4 part = reinterpret_cast<const uint4*>(from)[i];
    loaded.words[4 * i] = part.x;
    loaded.words[4 * i + 1] = part.y;
    loaded.words[4 * i + 2] = part.z;
    loaded.words[4 * i + 3] = part.w;
  }
  return loaded;
}

template <typename Source, int kWidth>
__device__ __forceinline__ void Decode(const WordsOf<Source, kWidth>& piece,
                                       float (&values)[kWidth]) {
  if constexpr (std::is_same_v<Source, float>) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      values[i] = __uint_as_float(piece.words[i]);
    }
  } else if constexpr (std::is_same_v<Source, Half>) {
#pragma unroll
    for (int i = 0; i < kWidth; i += 2) {
      const uint32_t pair = piece.words[i / 2];
      const float2 both =
          __half22float2(*reinterpret_cast<const __half2*>(&pair));
      values[i] = both.x;
      values[i + 1] = both.y;
    }
  } else {
    static_assert(std::is_same_v<Source, BFloat16>);
#pragma unroll
    for (int i = 0; i < kWidth; i += 2) {
      values[i] = __uint_as_float(piece.words[i / 2] << 16);
      values[i + 1] = __uint_as_float(piece.words[i / 2] & 0xffff0000u);
    }
  }
}

// The largest magnitude of the elements, as bits: these ascend from zero
// through the numbers and infinity to NaN.
template <typename Source, int kWidth>
__device__ __forceinline__ uint32_t
LargestMagnitude(const WordsOf<Source, kWidth>& piece) {
  uint32_t largest = 0;
  if constexpr (std::is_same_v<Source, float>) {
#pragma unroll
    for (const uint32_t word : piece.words) {
      largest = max(largest, word & 0x7fffffffu);
    }
    return largest;
  } else {
#pragma unroll
    for (const uint32_t word : piece.words) {
      largest = __vmaxu2(largest, word & 0x7fff7fffu);
    }
    return max(largest & 0xffffu, largest >> 16);
  }
}

// The number of such bits.
template <typename Source>
__device__ __forceinline__ float MagnitudeOf(uint32_t bits) {
  if constexpr (std::is_same_v<Source, float>) {
    return __uint_as_float(bits);
  } else {
    return ToFloat(Source{static_cast<uint16_t>(bits)});
  }
}

// FromFloat of a pair, in the instructions of the hardware where it has any;
// the second is the upper half.
template <typename Code>
__device__ __forceinline__ uint32_t EncodePair(float first, float second) {
#if __CUDA_ARCH__ >= 890
  uint16_t pair;
  if constexpr (std::is_same_v<Code, Fp8E4M3>) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
        : "=h"(pair)
        : "f"(second), "f"(first));
    return pair;
  } else if constexpr (std::is_same_v<Code, Fp8E5M2>) {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
        : "=h"(pair)
        : "f"(second), "f"(first));
    return pair;
  }
#endif
  if constexpr (std::is_same_v<Code, Half>) {
    return DeviceElement<ElementKind::kF16>::Pack(first, second);
  } else if constexpr (std::is_same_v<Code, BFloat16>) {
    return DeviceElement<ElementKind::kBF16>::Pack(first, second);
  } else {
    const auto low = static_cast<uint8_t>(FromFloat<Code>(first).bits);
    const auto high = static_cast<uint8_t>(FromFloat<Code>(second).bits);
    return low | uint32_t{high} << 8;
  }
}

// FromFloat of four numbers: the hardware's conversions to integers take NaN to
// 0, and saturate. Result: the first is the low end.
__device__ __forceinline__ uint32_t EncodeInt8(const float* values) {
  uint32_t upper, all;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;"
      : "=r"(upper)
      : "r"(__float2int_rn(values[3])), "r"(__float2int_rn(values[2])));
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;"
      : "=r"(all)
      : "r"(__float2int_rn(values[1])), "r"(__float2int_rn(values[0])),
        "r"(upper));
  return all;
}

template <typename Code, int kWidth>
__device__ __forceinline__ WordsOf<Code, kWidth> Encode(
    const float (&values)[kWidth]) {
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(Code));
  WordsOf<Code, kWidth> codes;
#pragma unroll
  for (int i = 0; i < codes.kCount; ++i) {
    const float* from = values + i * kPerWord;
    if constexpr (kPerWord == 1) {
      codes.words[i] = __float_as_uint(from[0]);
    } else if constexpr (std::is_same_v<Code, Int8>) {
      codes.words[i] = EncodeInt8(from);
    } else {
      codes.words[i] = EncodePair<Code>(from[0], from[1]);
      if constexpr (kPerWord == 4) {
        codes.words[i] |= EncodePair<Code>(from[2], from[3]) << 16;
      }
    }
  }
  return codes;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_CODE_WORDS_CUH_
