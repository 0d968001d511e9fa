// What a device can do at all, before any plan is weighed.
#ifndef PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_
#define PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_

#include <optional>

#include "absl/status/status.h"
#include "kernels/core/instance.h"
#include "paged/args.h"
#include "paged/device_profile.h"
#include "paged/options.h"

namespace paged::internal {

// Whether the device can merge partials this way, whatever the plan.
bool CanReduce(Reduction reduction, const DeviceProfile& profile);

// Whether the instance has the shape's dtype and head_dim, and the warps and
// stages that were asked for, if any.
bool Serves(const InstanceConfig& config, const DecodeShape& shape,
            const std::optional<InstanceChoice>& forced);

// InvalidArgument for a variant, reduction or instance that this device does
// not have, and on CUDA for strides that are no multiple of 16 bytes.
// Unimplemented for a dtype, head_dim, instance or compute capability that no
// compiled kernel serves, with the list of what exists.
absl::Status CheckDevice(const DecodeShape& shape, const DeviceProfile& profile,
                         const DecodeOptions& options);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_
