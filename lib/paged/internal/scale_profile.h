// Memory and launch figures of a profile, taken over from another.
#ifndef PAGED_LIB_PAGED_INTERNAL_SCALE_PROFILE_H_
#define PAGED_LIB_PAGED_INTERNAL_SCALE_PROFILE_H_

#include "paged/device_profile.h"

namespace paged::internal {

// `profile` with the measured figures of `measured`, the same device.
DeviceProfile WithMemoryOf(DeviceProfile profile,
                           const DeviceProfile& measured);

// `profile` as a scaled H200, marked estimated: the same share of the nominal
// bandwidth and of the SMs, and as many bytes at work per SM as that rate needs
// at the same latency (Little's law).
DeviceProfile ScaleFromH200(DeviceProfile profile, double nominal_gb_per_s);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_SCALE_PROFILE_H_
