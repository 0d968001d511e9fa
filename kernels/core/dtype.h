// Storage types of tensors, and their exact conversion to and from float.
//
// Host only but for the types of 8 bits: CUDA kernels convert with the
// hardware's own instructions where there are any. Storage types never take
// part in arithmetic.
#ifndef PAGED_KERNELS_CORE_DTYPE_H_
#define PAGED_KERNELS_CORE_DTYPE_H_

#include <bit>
#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// How the elements of a tensor are stored.
enum class ElementKind : uint8_t { kF16, kBF16, kF32, kE4M3, kE5M2, kInt8 };

constexpr int BytesOf(ElementKind kind) {
  if (kind == ElementKind::kF32) return 4;
  return kind == ElementKind::kF16 || kind == ElementKind::kBF16 ? 2 : 1;
}

// IEEE 754 binary16.
struct Half {
  uint16_t bits;
};

// The upper half of a binary32.
struct BFloat16 {
  uint16_t bits;
};

// FP8 of the Open Compute Project (OFP8, 2023): 4 bits of exponent with bias 7,
// no infinities, NaN where all bits but the sign are set.
struct Fp8E4M3 {
  uint8_t bits;
};

// The upper half of a binary16.
struct Fp8E5M2 {
  uint8_t bits;
};

struct Int8 {
  int8_t bits;
};

constexpr float ToFloat(float x) { return x; }

constexpr float ToFloat(BFloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

constexpr float ToFloat(Half x) {
  const uint32_t sign = (x.bits & 0x8000u) << 16;
  const uint32_t magnitude = (x.bits & 0x7fffu) << 13;
  // The exponent bias moves from 15 to 127; the product is exact, and makes
  // subnormals normal.
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t finite = std::bit_cast<uint32_t>(scaled);
  const uint32_t special = magnitude | 0x7f800000u;
  const bool is_special = (x.bits & 0x7c00u) == 0x7c00u;
  return std::bit_cast<float>(sign | (is_special ? special : finite));
}

PAGED_HD constexpr float ToFloat(Fp8E4M3 x) {
  const uint32_t sign = (x.bits & 0x80u) << 24;
  const uint32_t magnitude = (x.bits & 0x7fu) << 20;
  // The exponent bias moves from 7 to 127; as for Half.
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p120f;
  const bool is_nan = (x.bits & 0x7fu) == 0x7fu;
  return __builtin_bit_cast(
      float,
      sign | (is_nan ? 0x7fc00000u : __builtin_bit_cast(uint32_t, scaled)));
}

PAGED_HD constexpr float ToFloat(Fp8E5M2 x) {
  const uint32_t sign = (x.bits & 0x80u) << 24;
  const uint32_t magnitude = (x.bits & 0x7fu) << 21;
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  const bool is_special = (x.bits & 0x7cu) == 0x7cu;
  return __builtin_bit_cast(
      float, sign | (is_special ? magnitude | 0x7f800000u
                                : __builtin_bit_cast(uint32_t, scaled)));
}

PAGED_HD constexpr float ToFloat(Int8 x) { return x.bits; }

// Converts with round to nearest even; NaN stays NaN, overflow is infinity.
template <typename Element>
constexpr Element FromFloat(float x);

template <>
constexpr float FromFloat<float>(float x) {
  return x;
}

template <>
constexpr BFloat16 FromFloat<BFloat16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  }
  const uint32_t round = 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<uint16_t>((bits + round) >> 16)};
}

template <>
constexpr Half FromFloat<Half>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return {static_cast<uint16_t>(sign | 0x7e00u)};
  }
  // 65520 is the least value that rounds to infinity.
  if (magnitude >= std::bit_cast<uint32_t>(65520.0f)) {
    return {static_cast<uint16_t>(sign | 0x7c00u)};
  }
  if (magnitude < std::bit_cast<uint32_t>(0x1p-14f)) {
    // Subnormal: adding 0.5 leaves the rounded result in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    const uint32_t low =
        std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
    return {static_cast<uint16_t>(sign | low)};
  }
  const uint32_t round = 0x0fffu + ((magnitude >> 13) & 1u);
  const uint32_t rebased = magnitude + round - (112u << 23);
  return {static_cast<uint16_t>(sign | (rebased >> 13))};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_DTYPE_H_
