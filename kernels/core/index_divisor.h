// Division of many indices by one number, without a division for each.
#ifndef PAGED_KERNELS_CORE_INDEX_DIVISOR_H_
#define PAGED_KERNELS_CORE_INDEX_DIVISOR_H_

#include <bit>
#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// index / divisor for indices below 2^31, by a product and a shift (Granlund
// and Montgomery, 1994). The divisor is 1 to 2^31 - 1.
class IndexDivisor {
 public:
  // 2^shift / divisor, rounded up, has at most 32 bits, and exceeds the
  // quotient by so little that products with 31 bits do not notice.
  explicit IndexDivisor(uint32_t divisor)
      : shift_(31 + static_cast<int>(std::bit_width(divisor - 1))),
        multiplier_(((uint64_t{1} << shift_) + divisor - 1) / divisor) {}

  PAGED_HD uint32_t operator()(uint32_t index) const {
    return static_cast<uint32_t>(index * multiplier_ >> shift_);
  }

 private:
  int shift_;
  uint64_t multiplier_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INDEX_DIVISOR_H_
