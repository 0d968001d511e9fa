#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/core/instance.h"
#include "paged/internal/candidates.h"
#include "paged/internal/device_rules.h"
#include "paged/internal/lower.h"

namespace paged::internal {

std::string Describe(Obstacle obstacle, const DecodePlan& plan,
                     const DeviceProfile& profile) {
  switch (obstacle) {
    case Obstacle::kNone:
      break;
    case Obstacle::kSharedMemory:
      return absl::StrCat("needs ", ConfigOf(plan.instance)->shared_bytes(),
                          " bytes of shared memory per CTA; the device has ",
                          profile.shared_bytes_per_cta);
    case Obstacle::kResidency:
      return absl::StrCat("no CTA of ", plan.instance.warps,
                          " warps fits an SM of the device");
    case Obstacle::kCounters:
      return absl::StrCat("reduction last_cta counts at most ",
                          kMaxArrivalCounters,
                          " sequences x kv heads x row tiles; got ",
                          plan.num_ctas / plan.num_splits);
    case Obstacle::kClusterRoom:
      return absl::StrCat("clusters fill more than half of the device's ",
                          plan.resident_ctas * profile.num_units,
                          " slots, so that some would wait");
    case Obstacle::kGridSize:
      return absl::StrCat(
          "num_seqs * num_kv_heads * row tiles * splits must be at most "
          "2147483647; got ",
          plan.shape.num_seqs, " * ", plan.shape.num_kv_heads, " * ",
          plan.num_row_tiles, " * ", plan.num_splits,
          plan.partition == Partition::kChunks ? " and chunks" : "");
  }
  return "";
}

}  // namespace paged::internal
