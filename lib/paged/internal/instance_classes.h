// Which of the compiled instances could serve a shape.
#ifndef PAGED_LIB_PAGED_INTERNAL_INSTANCE_CLASSES_H_
#define PAGED_LIB_PAGED_INTERNAL_INSTANCE_CLASSES_H_

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "kernels/core/instance.h"
#include "paged/args.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged::internal {

// Instances that differ in warps and stages alone: they lie side by side in
// kInstances.
struct InstanceClass {
  std::size_t first = 0;
  std::size_t count = 0;  // 0: no such class

  // What they share.
  const InstanceConfig& front() const { return kInstances[first]; }
  std::span<const InstanceConfig> members() const {
    return std::span(kInstances).subspan(first, count);
  }
};
using InstanceClasses = std::array<InstanceClass, 2>;

// The most that are in one class.
inline constexpr std::size_t kMaxClassMembers = 5;

// The classes to weigh for a shape: of all that could serve it, the one that
// does it at the least cost; and where more rows share tokens than one of its
// items holds, the one for twice as many. Both empty where no instance serves
// the shape. With `forced`, of those that take at least what it asks for, and
// where some on tensor cores have its warps and stages, of these.
InstanceClasses ClassesFor(const DecodeShape& shape,
                           const std::optional<InstanceChoice>& forced);

// Whether it has the warps and stages that were asked for, if any.
bool HasShape(const InstanceConfig& config,
              const std::optional<InstanceChoice>& forced);

// What the kernels copy and store at once.
inline constexpr int kVectorBytes = 16;

// Whether the rows of the caches are whole pieces of 16 bytes, at multiples of
// 16; else, of 8: those of bytes may.
bool HasWholeVectors(const DecodeShape& shape);

// The instance's entry in the table of what is compiled; null for none.
const InstanceConfig* ConfigOf(const Instance& instance);
Instance InstanceOf(const InstanceConfig& config);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_INSTANCE_CLASSES_H_
