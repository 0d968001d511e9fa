// Storage types of tensors, and their exact conversion to and from float.
//
// CUDA kernels convert with the hardware's own instructions where there are
// any, to the same bits. Storage types never take part in arithmetic.
#ifndef PAGED_KERNELS_CORE_DTYPE_H_
#define PAGED_KERNELS_CORE_DTYPE_H_

#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// How the elements of a tensor are stored.
enum class ElementKind : uint8_t { kF16, kBF16, kF32, kE4M3, kE5M2, kInt8 };

PAGED_HD constexpr int BytesOf(ElementKind kind) {
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

PAGED_HD constexpr float ToFloat(float x) { return x; }

PAGED_HD constexpr float ToFloat(BFloat16 x) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(x.bits) << 16);
}

PAGED_HD constexpr float ToFloat(Half x) {
  const uint32_t sign = (x.bits & 0x8000u) << 16;
  const uint32_t magnitude = (x.bits & 0x7fffu) << 13;
  // The exponent bias moves from 15 to 127; the product is exact, and makes
  // subnormals normal.
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
  const uint32_t finite = __builtin_bit_cast(uint32_t, scaled);
  const uint32_t special = magnitude | 0x7f800000u;
  const bool is_special = (x.bits & 0x7c00u) == 0x7c00u;
  return __builtin_bit_cast(float, sign | (is_special ? special : finite));
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

// The bits of the nearest value, ties to even, of a format of so many bits of
// mantissa and such an exponent bias; `magnitude` is of a finite binary32 that
// the format's exponents reach.
template <int kMantissaBits, int kBias>
PAGED_HD constexpr uint32_t RoundedMagnitude(uint32_t magnitude) {
  constexpr int kDroppedBits = 23 - kMantissaBits;
  constexpr uint32_t kRebias = 127 - kBias;
  if (magnitude < (kRebias + 1) << 23) {
    // Subnormal: adding a power of two whose last place is the format's leaves
    // the rounded result in the low bits.
    constexpr uint32_t kShift = (kRebias + 1 + kDroppedBits) << 23;
    const float shifted = __builtin_bit_cast(float, magnitude) +
                          __builtin_bit_cast(float, kShift);
    return __builtin_bit_cast(uint32_t, shifted) - kShift;
  }
  const uint32_t is_odd = (magnitude >> kDroppedBits) & 1u;
  const uint32_t round = (1u << (kDroppedBits - 1)) - 1u + is_odd;
  return (magnitude + round - (kRebias << 23)) >> kDroppedBits;
}

// Converts with round to nearest even. Types of 16 bits: overflow is infinity.
// Types of 8 bits: what is larger than all values, infinity among it, becomes
// the largest. NaN stays NaN, and is 0 in int8.
template <typename Element>
PAGED_HD constexpr Element FromFloat(float x);

template <>
PAGED_HD constexpr float FromFloat<float>(float x) {
  return x;
}

template <>
PAGED_HD constexpr BFloat16 FromFloat<BFloat16>(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  }
  const uint32_t round = 0x7fffu + ((bits >> 16) & 1u);
  return {static_cast<uint16_t>((bits + round) >> 16)};
}

template <>
PAGED_HD constexpr Half FromFloat<Half>(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return {static_cast<uint16_t>(sign | 0x7e00u)};
  }
  // 65520 is the least value that rounds to infinity.
  if (magnitude >= __builtin_bit_cast(uint32_t, 65520.0f)) {
    return {static_cast<uint16_t>(sign | 0x7c00u)};
  }
  return {static_cast<uint16_t>(sign | RoundedMagnitude<10, 15>(magnitude))};
}

template <>
PAGED_HD constexpr Fp8E4M3 FromFloat<Fp8E4M3>(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {0x7f};
  if (magnitude >= __builtin_bit_cast(uint32_t, 448.0f)) {
    return {static_cast<uint8_t>(sign | 0x7eu)};
  }
  return {static_cast<uint8_t>(sign | RoundedMagnitude<3, 7>(magnitude))};
}

template <>
PAGED_HD constexpr Fp8E5M2 FromFloat<Fp8E5M2>(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (bits >> 24) & 0x80u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {0x7f};
  if (magnitude >= __builtin_bit_cast(uint32_t, 57344.0f)) {
    return {static_cast<uint8_t>(sign | 0x7bu)};
  }
  return {static_cast<uint8_t>(sign | RoundedMagnitude<2, 15>(magnitude))};
}

template <>
PAGED_HD constexpr Int8 FromFloat<Int8>(float x) {
  if (x != x) return {0};
  const float clamped = x < -128.0f ? -128.0f : x > 127.0f ? 127.0f : x;
  // Its last place is 1, and its low bits the rounded result.
  constexpr float kShift = 0x1.8p23f;
  return {static_cast<int8_t>(__builtin_bit_cast(uint32_t, clamped + kShift))};
}

// Calls `body` with a value of the storage type that `kind` names.
template <typename Body>
void WithElement(ElementKind kind, const Body& body) {
  switch (kind) {
    case ElementKind::kF16:
      return body(Half{});
    case ElementKind::kBF16:
      return body(BFloat16{});
    case ElementKind::kF32:
      return body(float{});
    case ElementKind::kE4M3:
      return body(Fp8E4M3{});
    case ElementKind::kE5M2:
      return body(Fp8E5M2{});
    case ElementKind::kInt8:
      return body(Int8{});
  }
}

// The same, of what queries and outputs are stored as.
template <typename Body>
void WithQueryElement(ElementKind kind, const Body& body) {
  if (kind == ElementKind::kF16) return body(Half{});
  if (kind == ElementKind::kBF16) return body(BFloat16{});
  return body(float{});
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_DTYPE_H_
