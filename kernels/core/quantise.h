// How rows of values become what a cache stores, on the CPU and on the GPU
// alike: code = value / scale, rounded by FromFloat (dtype.h).
#ifndef PAGED_KERNELS_CORE_QUANTISE_H_
#define PAGED_KERNELS_CORE_QUANTISE_H_

#include "kernels/core/dtype.h"
#include "kernels/core/host_device.h"

namespace paged {

// The largest magnitude that a row is scaled to where each has a scale of its
// own. Types with room to spare take 1: products of larger codes could
// overflow, and smaller ones lose no bits.
template <typename Element>
inline constexpr float kLargestCode = 1.0f;
template <>
inline constexpr float kLargestCode<Fp8E4M3> = 448.0f;
template <>
inline constexpr float kLargestCode<Fp8E5M2> = 57344.0f;
template <>
inline constexpr float kLargestCode<Int8> = 127.0f;

inline constexpr float kSmallestNormal = 0x1p-126f;
inline constexpr float kLargestFinite = 0x1.fffffep127f;

// |x|, and 0 for what no finite scale serves: NaN and infinities.
PAGED_HD constexpr float FiniteMagnitude(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  return magnitude <= kLargestFinite ? magnitude : 0.0f;
}

PAGED_HD constexpr float ClampToNormal(float x) {
  if (x < kSmallestNormal) return kSmallestNormal;
  return x < kLargestFinite ? x : kLargestFinite;
}

// The scale of a row whose largest finite magnitude is `amax`, beside a factor
// that all rows share: positive, finite, and normal. A row of zeros has scale
// 1.
PAGED_HD constexpr float RowScale(float amax, float largest_code,
                                  float factor) {
  if (amax == 0.0f) return 1.0f;
  return ClampToNormal(ClampToNormal(amax / largest_code) / factor);
}

template <typename Element>
PAGED_HD constexpr Element Quantised(float value, float scale) {
  return FromFloat<Element>(value / scale);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_QUANTISE_H_
