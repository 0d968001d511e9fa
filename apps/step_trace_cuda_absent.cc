// The GPU's side of a build without CUDA.
#include "apps/step_clock.h"

namespace paged {

absl::StatusOr<std::vector<StepTrace>> TraceOnCuda(
    const ShapeRequest&, const std::vector<PointTier>&) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace paged
