// What stored keys or values are multiplied by: value = scale * code.
#ifndef PAGED_KERNELS_CORE_KV_SCALES_H_
#define PAGED_KERNELS_CORE_KV_SCALES_H_

#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// A factor of everything, and a tensor of one scale (strides 0), of one per kv
// head (head stride alone), or of one per (token, kv head).
struct KvScales {
  float factor = 1.0f;
  const float* data = nullptr;  // or null
  int64_t block_stride = 0;
  int64_t slot_stride = 0;
  int64_t head_stride = 0;
};

PAGED_HD inline bool AreByToken(const KvScales& scales) {
  return scales.block_stride != 0 || scales.slot_stride != 0;
}

// The part that all tokens of a kv head share, and the rest: a kernel takes the
// first into its own factors, and the second only where it differs from 1.
PAGED_HD inline float HeadScale(const KvScales& scales, int kv_head) {
  if (scales.data == nullptr || AreByToken(scales)) return scales.factor;
  return scales.factor * scales.data[kv_head * scales.head_stride];
}

PAGED_HD inline float TokenScale(const KvScales& scales, int64_t block,
                                 int slot, int kv_head) {
  if (!AreByToken(scales)) return 1.0f;
  return scales.data[block * scales.block_stride + slot * scales.slot_stride +
                     kv_head * scales.head_stride];
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_KV_SCALES_H_
