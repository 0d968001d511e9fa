// Reproducible values without a generator's state: the same on host and
// device, so that a reference can recompute what a kernel was fed.
#ifndef PAGED_KERNELS_CORE_HASH_H_
#define PAGED_KERNELS_CORE_HASH_H_

#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/core/host_device.h"

namespace paged {

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
PAGED_HD constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A multiple of 2^-8 in [-2, 2): exact in fp16, rounded in bf16.
PAGED_HD constexpr float HashUniform(uint32_t seed, int64_t index) {
  const uint64_t bits =
      Mix((static_cast<uint64_t>(seed) << 40) ^ static_cast<uint64_t>(index));
  return static_cast<float>(static_cast<int>(bits >> 54) - 512) * 0x1p-8f;
}

// The same as elements of a byte hold it: a multiple of 2^-2 in fp8 e5m2, of
// 2^-3 in the others, of which int8 has eightfold codes.
PAGED_HD constexpr float HashElement(ElementKind element, uint32_t seed,
                                     int64_t index) {
  const float x = HashUniform(seed, index);
  if (BytesOf(element) > 1) return x;
  const float steps = element == ElementKind::kE5M2 ? 4.0f : 8.0f;
  // Towards zero.
  return static_cast<float>(static_cast<int>(x * steps)) / steps;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_HASH_H_
