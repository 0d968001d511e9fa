// Ranges that NVIDIA's profilers show, named "paged/...". Nothing is left of
// them unless CMake's option PAGED_NVTX is on.
#ifndef PAGED_LIB_PAGED_INTERNAL_PROFILE_RANGE_H_
#define PAGED_LIB_PAGED_INTERNAL_PROFILE_RANGE_H_

#ifdef PAGED_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace paged::internal {

// From its construction to the end of its scope, on this thread.
class [[maybe_unused]] ProfileRange {
 public:
#ifdef PAGED_NVTX
  explicit ProfileRange(const char* name) { nvtxRangePushA(name); }
  ~ProfileRange() { nvtxRangePop(); }
#else
  explicit ProfileRange(const char*) {}
#endif
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
};

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_PROFILE_RANGE_H_
