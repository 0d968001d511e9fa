// What a device can do at all, before any plan is weighed.
#ifndef PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_
#define PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_

#include <array>
#include <optional>

#include "absl/status/status.h"
#include "kernels/core/instance.h"
#include "paged/args.h"
#include "paged/device_profile.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::internal {

// Whether the device can merge partials this way, whatever the plan.
bool CanReduce(Reduction reduction, const DeviceProfile& profile);

// Whether the rows of the caches are whole pieces of 16 bytes, at multiples of
// 16; else, of 8: those of bytes may.
bool HasWholeVectors(const DecodeShape& shape);

// What instances share that differ in warps and stages alone.
struct InstanceClass {
  ElementKind element = ElementKind::kF16;
  InstanceKind kind = InstanceKind::kPlain;
  int max_rows = 0;
  int key_dim = 0;
  int value_dim = 0;
};

// The classes to weigh for a shape: of all that could serve it, the one that
// does it at the least cost; and where more rows share tokens than one of its
// items holds, the one for twice as many. Both empty where no instance serves
// the shape. With `forced`, of those that take at least what it asks for, and
// where some on tensor cores have its warps and stages, of these.
std::array<std::optional<InstanceClass>, 2> ClassesFor(
    const DecodeShape& shape, const std::optional<InstanceChoice>& forced);

// Whether the instance is of the class.
bool IsOf(const InstanceConfig& config, const InstanceClass& of);

// Whether it has the warps and stages that were asked for, if any.
bool HasShape(const InstanceConfig& config,
              const std::optional<InstanceChoice>& forced);

// The instance's entry in the table of what is compiled; null for none.
const InstanceConfig* ConfigOf(const Instance& instance);
Instance InstanceOf(const InstanceConfig& config);

// InvalidArgument for a variant, reduction or instance that this device does
// not have, and on CUDA for strides that are no multiple of 16 bytes (8 of a
// cache of bytes). Unimplemented for a dtype, head_dim, instance or compute
// capability that no compiled kernel serves, with what exists.
absl::Status CheckDevice(const DecodeShape& shape, const DeviceProfile& profile,
                         const DecodeOptions& options);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_DEVICE_RULES_H_
