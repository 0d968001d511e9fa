// Included before Highway by every file that is compiled once per target.
#ifndef PAGED_KERNELS_CPU_SIMD_TARGETS_H_
#define PAGED_KERNELS_CPU_SIMD_TARGETS_H_

// Left out: vectors whose length is not known to the compiler, which register
// tiles cannot be made of; and one target of SSE, which SSE4 is hardly newer
// than.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#endif  // PAGED_KERNELS_CPU_SIMD_TARGETS_H_
