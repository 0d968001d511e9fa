// The points of a scan: what `paged scan` measures, in order.
#ifndef PAGED_APPS_SCAN_POINTS_H_
#define PAGED_APPS_SCAN_POINTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/point_measurer.h"
#include "apps/shape_flags.h"

namespace paged {

struct ScanRequest {
  ShapeRequest shape = kMeasuredShape;
  std::vector<int> num_seqs = {8, 64};
  std::vector<std::string> over = {"context"};
  bool is_long = false;  // contexts up to 131072, else 4096
};

// Words of --over.
std::vector<std::string> ScanNames();

// InvalidArgument for a name that is none of ScanNames. "all" stands for all of
// them. What two scans have in common is one point with the tiers of both, so
// that these are measured side by side.
absl::StatusOr<std::vector<BenchPoint>> ScanPoints(const ScanRequest& request);

}  // namespace paged

#endif  // PAGED_APPS_SCAN_POINTS_H_
