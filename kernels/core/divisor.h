// Division of many numbers by one scale, without a division for each.
#ifndef PAGED_KERNELS_CORE_DIVISOR_H_
#define PAGED_KERNELS_CORE_DIVISOR_H_

#include <cmath>

#include "kernels/core/host_device.h"

namespace paged {

// value / scale by a multiplication and a correction (Markstein, 1990): the
// reciprocal is the rounded one, and what the first product lacks is known
// exactly, as long as no step leaves the normal numbers.
class Divisor {
 public:
  PAGED_HD explicit Divisor(float scale)
      : scale_(scale), inverse_(1.0f / scale) {}

  // Whether all quotients are rounded as the division rounds them. The values
  // are zeros, and others whose magnitudes are in these bounds.
  PAGED_HD bool IsExactFor(float smallest, float largest) const {
    return (scale_ == 1.0f && largest <= 0x1.fffffep127f) ||
           (scale_ >= 0x1p-60f && scale_ <= 0x1p60f && smallest >= 0x1p-60f &&
            largest <= 0x1p60f);
  }

  // Whether all become the same codes of 8 bits. There is no smallest
  // magnitude: what leaves the normal numbers is a zero of the right sign to
  // all of these types.
  PAGED_HD bool IsExactForBytes(float largest) const {
    return scale_ >= 0x1p-40f && scale_ <= 0x1p60f && largest <= 0x1p80f;
  }

  PAGED_HD float operator()(float value) const {
    const float quotient = value * inverse_;
    // This way round, a zero keeps its sign.
    const float excess = fmaf(quotient, scale_, -value);
    return fmaf(-excess, inverse_, quotient);
  }

 private:
  float scale_;
  float inverse_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_DIVISOR_H_
