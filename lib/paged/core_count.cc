#include "paged/internal/core_count.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace paged::internal {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// "QUOTA PERIOD" or "max PERIOD" in one file, or a file each, of which that of
// the quota may say -1.
double QuotaOf(const std::string& group) {
  std::ifstream both(absl::StrCat(group, "/cpu.max"));
  std::ifstream quota_file(absl::StrCat(group, "/cpu.cfs_quota_us"));
  std::ifstream period_file(absl::StrCat(group, "/cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  const bool is_known = both ? bool{both >> quota >> period}
                             : (quota_file >> quota) && (period_file >> period);
  return is_known && quota > 0 && period > 0 ? quota / period : kNoLimit;
}

// The least of the group `path` of a hierarchy and of those above it. A
// container may see its own group as the top one, and not those that the path
// names.
double LeastQuota(const std::string& hierarchy, std::filesystem::path path) {
  double least = kNoLimit;
  while (true) {
    least = std::min(
        least,
        QuotaOf(absl::StrCat(hierarchy, "/", path.relative_path().string())));
    if (path == path.parent_path()) return least;
    path = path.parent_path();
  }
}

}  // namespace

int NumAllowedCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return CPU_COUNT(&mask);
  return static_cast<int>(std::thread::hardware_concurrency());
}

int NumGrantedCores(const std::string& root) {
  const std::string mounts = absl::StrCat(root, "/sys/fs/cgroup");
  double least = std::min(QuotaOf(mounts), QuotaOf(mounts + "/cpu"));
  std::ifstream groups(absl::StrCat(root, "/proc/self/cgroup"));
  // NUMBER:CONTROLLERS:PATH, without controllers in version 2.
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) {
      least = std::min(least, LeastQuota(mounts, parts[2]));
    }
    for (const absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      if (controller != "cpu") continue;
      least = std::min(least, LeastQuota(mounts + "/cpu", parts[2]));
    }
  }
  if (least == kNoLimit) return 0;
  return static_cast<int>(std::ceil(std::min(least, 1e6)));
}

int NumUsableCores() {
  const int allowed = std::max(NumAllowedCores(), 1);
  const int granted = NumGrantedCores();
  return granted == 0 ? allowed : std::min(allowed, granted);
}

}  // namespace paged::internal
