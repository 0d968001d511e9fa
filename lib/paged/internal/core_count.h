// How many threads the CPU backend starts where its caller does not say.
#ifndef PAGED_LIB_PAGED_INTERNAL_CORE_COUNT_H_
#define PAGED_LIB_PAGED_INTERNAL_CORE_COUNT_H_

#include <string>

namespace paged::internal {

// Cores that the affinity mask leaves to the calling thread.
int NumAllowedCores();

// Cores' worth of time, rounded up, that the control groups of this process
// grant, of version 2 (cpu.max) or 1 (cpu.cfs_quota_us): the least of its own
// group's and of those above. 0 when there is no limit. `root` is where /proc
// and /sys lie.
int NumGrantedCores(const std::string& root = "");

// The lesser of both, and at least 1.
int NumUsableCores();

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CORE_COUNT_H_
