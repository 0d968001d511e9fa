// A GPU's profile, measured.
#ifndef PAGED_BENCHMARKS_CALIBRATE_H_
#define PAGED_BENCHMARKS_CALIBRATE_H_

#include "absl/status/statusor.h"
#include "paged/device_profile.h"

namespace paged::benchmarks {

// Times a dozen small decodes on GPU 0 and solves the cost model for its
// bandwidth, knee and fixed costs; the roundness of its corner and the cost of
// a wave are those of the profile that the device has. Takes some seconds and 3
// GB of its memory. Errors as MakeCudaBackend, and Internal where times
// contradict each other.
absl::StatusOr<DeviceProfile> CalibrateCuda();

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CALIBRATE_H_
