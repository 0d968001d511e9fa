// The decision over batch and context: where v1 ends and split_k begins.
#ifndef PAGED_APPS_SWEEP_MAP_H_
#define PAGED_APPS_SWEEP_MAP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/shape_flags.h"
#include "paged/device_profile.h"
#include "paged/options.h"
#include "paged/plan.h"

namespace paged {

struct SweepMap {
  std::vector<int> num_seqs;      // rows: 1, 2, ... 256
  std::vector<int> context_lens;  // columns: 128, ... 131072
  std::vector<DecodePlan> plans;  // row by row

  const DecodePlan& at(std::size_t row, std::size_t column) const {
    return plans[row * context_lens.size() + column];
  }
};

// `request` says heads, head_dim, block_size and dtype. Errors of planning.
absl::StatusOr<SweepMap> MakeSweepMap(const ShapeRequest& request,
                                      const DeviceProfile& profile,
                                      const DecodeOptions& options);

// "v1" or the number of splits in every cell; v1 and split_k have a colour each
// where that is wanted.
std::string TextOf(const SweepMap& map, const DeviceProfile& profile,
                   bool has_colour);

// One object per cell and line: num_seqs, context_len, variant, splits,
// predicted_us.
std::string JsonLinesOf(const SweepMap& map);

}  // namespace paged

#endif  // PAGED_APPS_SWEEP_MAP_H_
