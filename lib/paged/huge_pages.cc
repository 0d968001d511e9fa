#include "paged/internal/huge_pages.h"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace paged::internal {

void AdviseHugePages([[maybe_unused]] void* data,
                     [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Of these bytes, whole pages of the usual size: below a few large pages the
  // rest of the heap would be mapped with them, and nothing gained.
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::size_t kLeast = std::size_t{4} << 20;
  if (bytes < kLeast) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = (address + bytes) / kPage * kPage;
  // A hint: what it returns changes nothing.
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace paged::internal
