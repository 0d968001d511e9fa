// The CUDA side of a build without CUDA.
#include "benchmarks/calibrate.h"
#include "benchmarks/measurer.h"
#include "benchmarks/regret.h"
#include "benchmarks/tiers.h"

namespace paged::benchmarks {

absl::StatusOr<std::unique_ptr<Measurer>> MakeCudaMeasurer(RowSet) {
  return absl::UnimplementedError("this build has no CUDA");
}

absl::StatusOr<std::unique_ptr<TierMeasurer>> MakeCudaTierMeasurer() {
  return absl::UnimplementedError("this build has no CUDA");
}

absl::StatusOr<DeviceProfile> CalibrateCuda() {
  return absl::UnimplementedError("this build has no CUDA");
}

absl::Status MeasureRegret(const std::vector<RegretShape>&,
                           absl::FunctionRef<void(const RegretRow&)>) {
  return absl::UnimplementedError("this build has no CUDA");
}

absl::Status RunCudaSweep(const std::string&, const std::string&) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace paged::benchmarks
