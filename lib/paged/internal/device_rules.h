// What a device can do at all, before any plan is weighed.
#ifndef PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_
#define PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_

#include "absl/status/statusor.h"
#include "paged/args.h"
#include "paged/device_profile.h"
#include "paged/internal/instance_classes.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::internal {

// Whether the device can merge partials this way, whatever the plan.
bool CanReduce(Reduction reduction, const DeviceProfile& profile);

// What the chunks of a sequence end in: on the CPU all threads wait for each
// other anyway.
Reduction ReductionOfChunks(const DeviceProfile& profile);

// The classes of instances to weigh, none where no instance is to run.
// InvalidArgument for a variant, reduction or instance that this device does
// not have, and on CUDA for strides that are no multiple of 16 bytes (8 of a
// cache of bytes). Unimplemented for a dtype, head_dim, instance or compute
// capability that no compiled kernel serves, with what exists.
absl::StatusOr<InstanceClasses> CheckDevice(const DecodeShape& shape,
                                            const DeviceProfile& profile,
                                            const DecodeOptions& options);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_
