// Vector operations that the kernels share: rows of storage types as floats,
// powers of two, sums of many vectors at once. Compiled once per target.
#if defined(PAGED_KERNELS_CPU_SIMD_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_OPS_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_OPS_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_OPS_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/core/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Fixed sizes alone: registers are held in arrays.
using FloatTag = hn::CappedTag<float, 16>;
using Floats = hn::Vec<FloatTag>;
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));

// Whether the target converts halves itself. Highway's own emulation, for the
// others, takes infinities and NaN for large numbers.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2
inline constexpr bool kHasHalf = false;
#else
inline constexpr bool kHasHalf = true;
#endif

HWY_INLINE Floats LoadFloats(const float* from) {
  return hn::LoadU(FloatTag(), from);
}

HWY_INLINE Floats LoadFloats(const BFloat16* from) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}

using HalfBits = hn::Vec<hn::Rebind<uint16_t, FloatTag>>;

HWY_INLINE Floats FloatsOfHalves(HalfBits bits) {
  const FloatTag d;
  if constexpr (kHasHalf) {
    const hn::Rebind<hwy::float16_t, FloatTag> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, bits));
  } else {
    // As ToFloat(Half).
    const hn::RebindToUnsigned<FloatTag> d32;
    const auto wide = hn::PromoteTo(d32, bits);
    const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(d32, 0x8000u)));
    const auto magnitude =
        hn::ShiftLeft<13>(hn::And(wide, hn::Set(d32, 0x7fffu)));
    const auto finite = hn::BitCast(
        d32, hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f)));
    const auto exponent = hn::Set(d32, 0x7c00u);
    const auto is_special = hn::Eq(hn::And(wide, exponent), exponent);
    const auto special = hn::Or(magnitude, hn::Set(d32, 0x7f800000u));
    return hn::BitCast(
        d, hn::Or(sign, hn::IfThenElse(is_special, special, finite)));
  }
}

HWY_INLINE Floats LoadFloats(const Half* from) {
  const hn::Rebind<uint16_t, FloatTag> d16;
  return FloatsOfHalves(
      hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from)));
}

HWY_INLINE Floats LoadFloats(const Fp8E5M2* from) {
  const hn::Rebind<uint8_t, FloatTag> d8;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits = hn::LoadU(d8, reinterpret_cast<const uint8_t*>(from));
  return FloatsOfHalves(hn::ShiftLeft<8>(hn::PromoteTo(d16, bits)));
}

HWY_INLINE Floats LoadFloats(const Fp8E4M3* from) {
  const FloatTag d;
  const hn::Rebind<uint8_t, FloatTag> d8;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits =
      hn::PromoteTo(d16, hn::LoadU(d8, reinterpret_cast<const uint8_t*>(from)));
  // The bits of a half whose value is 2^-8 of the code's, subnormal where that
  // is: its exponent has the same place and one bit more. NaN alone is not.
  const auto code = hn::And(bits, hn::Set(d16, uint16_t{0x7f}));
  const auto sign =
      hn::And(hn::ShiftLeft<8>(bits), hn::Set(d16, uint16_t{0x8000}));
  const auto magnitude =
      hn::IfThenElse(hn::Eq(code, hn::Set(d16, uint16_t{0x7f})),
                     hn::Set(d16, uint16_t{0x7e00}), hn::ShiftLeft<7>(code));
  return hn::Mul(FloatsOfHalves(hn::Or(sign, magnitude)), hn::Set(d, 256.0f));
}

HWY_INLINE Floats LoadFloats(const Int8* from) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> d32;
  const hn::Rebind<int8_t, FloatTag> d8;
  const auto codes = hn::LoadU(d8, reinterpret_cast<const int8_t*>(from));
  return hn::ConvertTo(d, hn::PromoteTo(d32, codes));
}

// The first `count` elements, fewer than a vector has; zeros after them.
template <typename Element>
HWY_INLINE Floats LoadSome(const Element* from, int count) {
  Element padded[kLanes] = {};
  std::memcpy(padded, from, static_cast<size_t>(count) * sizeof(Element));
  return LoadFloats(padded);
}

HWY_INLINE void StoreFloats(Floats x, float* to) {
  hn::StoreU(x, FloatTag(), to);
}

HWY_INLINE void StoreFloats(Floats x, BFloat16* to) {
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::RebindToSigned<FloatTag> di;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto bits = hn::BitCast(d32, x);
  // As FromFloat<BFloat16>.
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
  const auto rounded =
      hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7fffu))));
  const auto nan = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d32, 0x40u));
  const auto is_number = hn::RebindMask(d32, hn::Eq(x, x));
  const auto halves = hn::IfThenElse(is_number, rounded, nan);
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, halves)), d16,
             reinterpret_cast<uint16_t*>(to));
}

HWY_INLINE void StoreFloats(Floats x, Half* to) {
  if constexpr (kHasHalf) {
    const hn::Rebind<hwy::float16_t, FloatTag> dh;
    const hn::Rebind<uint16_t, FloatTag> d16;
    hn::StoreU(hn::BitCast(d16, hn::DemoteTo(dh, x)), d16,
               reinterpret_cast<uint16_t*>(to));
  } else {
    float lanes[kLanes];
    hn::StoreU(x, FloatTag(), lanes);
    for (int i = 0; i < kLanes; ++i) to[i] = FromFloat<Half>(lanes[i]);
  }
}

// 2^x, for x of at most 1: 1 at 0, 0 below -125, NaN of NaN. Within 2 ulp.
//
// x = n + f with n an integer and |f| <= 1/2. (2^f - 1) / f is the polynomial
// that interpolates it at the six Chebyshev nodes of [-1/2, 1/2]; with rounded
// coefficients 2^f is off by 9.2e-9 at most.
HWY_INLINE Floats Exp2(Floats x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const Floats least = hn::Set(d, -125.0f);
  const Floats clamped = hn::Max(x, least);
  // To the nearest integer, which lies in the low bits: they have no place for
  // a fraction.
  const Floats shift = hn::Set(d, 0x1.8p23f);
  const Floats shifted = hn::Add(clamped, shift);
  const Floats n = hn::Sub(shifted, shift);
  const Floats f = hn::Sub(clamped, n);
  Floats y = hn::Set(d, 0.000154531634f);
  y = hn::MulAdd(y, f, hn::Set(d, 0.00133908633f));
  y = hn::MulAdd(y, f, hn::Set(d, 0.00961808302f));
  y = hn::MulAdd(y, f, hn::Set(d, 0.0555035695f));
  y = hn::MulAdd(y, f, hn::Set(d, 0.240226507f));
  y = hn::MulAdd(y, f, hn::Set(d, 0.693147182f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const Floats power = hn::BitCast(d, hn::Add(hn::BitCast(di, y), exponent));
  const Floats flushed = hn::IfThenElseZero(hn::Ge(x, least), power);
  return hn::IfThenElse(hn::Eq(x, x), flushed, x);
}

// Sums of four vectors within 128-bit blocks: lane i of a block is the sum of
// that block of v[i].
template <class D>
HWY_INLINE hn::Vec<D> SumsOfFour(D d, const hn::Vec<D>* v) {
  const hn::Repartition<double, D> dd;
  const auto ab = hn::Add(hn::InterleaveLower(d, v[0], v[1]),
                          hn::InterleaveUpper(d, v[0], v[1]));
  const auto cd = hn::Add(hn::InterleaveLower(d, v[2], v[3]),
                          hn::InterleaveUpper(d, v[2], v[3]));
  const auto ab64 = hn::BitCast(dd, ab);
  const auto cd64 = hn::BitCast(dd, cd);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, ab64, cd64)),
                 hn::BitCast(d, hn::InterleaveUpper(dd, ab64, cd64)));
}

// Sums of kLanes vectors: lane i of the result is the sum of a[i]'s lanes. Half
// as many additions as lanes of all vectors, where one sum at a time takes a
// whole vector's work for each step.
template <class D>
HWY_INLINE hn::Vec<D> SumsOf(D d, const hn::Vec<D>* a) {
  hn::Vec<D> quad[kLanes / 4];
  for (int i = 0; i < kLanes / 4; ++i) quad[i] = SumsOfFour(d, a + 4 * i);
#if HWY_MAX_BYTES >= 64
  if constexpr (kLanes == 16) {
    const auto even = hn::Add(hn::ConcatLowerLower(d, quad[2], quad[0]),
                              hn::ConcatUpperUpper(d, quad[2], quad[0]));
    const auto odd = hn::Add(hn::ConcatLowerLower(d, quad[3], quad[1]),
                             hn::ConcatUpperUpper(d, quad[3], quad[1]));
    return hn::OddEvenBlocks(hn::Add(odd, hn::SwapAdjacentBlocks(odd)),
                             hn::Add(even, hn::SwapAdjacentBlocks(even)));
  }
#endif
#if HWY_MAX_BYTES >= 32
  if constexpr (kLanes == 8) {
    return hn::Add(hn::ConcatLowerLower(d, quad[1], quad[0]),
                   hn::ConcatUpperUpper(d, quad[1], quad[0]));
  }
#endif
  return quad[0];
}

// Into the second cache: what is fetched is used tens of KB later, more than
// the first cache holds, and a fetch to the first waits for one of its few miss
// buffers, as a load does. On a Zen 4 core, fp16, head_dim 128, blocks of 16, 8
// kv heads, from memory: 9.5 GB/s without, 8.6 with fetches to the first
// cache, 19.2 with these, of the 19.5 that reading alone reaches (group 1).
HWY_INLINE void FetchLine(const void* line) {
#if defined(__GNUC__)
  __builtin_prefetch(line, /*rw=*/0, /*locality=*/2);
#else
  hwy::Prefetch(static_cast<const char*>(line));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_OPS_INL_H_
