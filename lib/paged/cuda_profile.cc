#include "paged/internal/cuda_profile.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "paged/internal/cuda_status.h"
#include "paged/internal/scale_profile.h"
#include "paged/internal/status_macros.h"
#include "paged/profile_file.h"

namespace paged::internal {
namespace {

// Memory clock in kHz times bus width in bits, both edges of the clock.
absl::StatusOr<double> NominalGbPerS(int device) {
  int clock_khz = 0;
  int bus_bits = 0;
  PAGED_RETURN_IF_ERROR(CudaStatus(
      cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device),
      "memory clock rate"));
  PAGED_RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetAttribute(
                     &bus_bits, cudaDevAttrGlobalMemoryBusWidth, device),
                 "memory bus width"));
  return 2.0 * clock_khz * 1e3 * (bus_bits / 8.0) / 1e9;
}

}  // namespace

absl::StatusOr<DeviceProfile> QueryCudaProfile(int device) {
  cudaDeviceProp properties;
  PAGED_RETURN_IF_ERROR(CudaStatus(cudaGetDeviceProperties(&properties, device),
                                   "device properties"));
  if (properties.major < 8) {
    return absl::UnavailableError(absl::StrCat(
        "compute capability must be at least 8.0; device ", device, ", ",
        properties.name, ", has ", properties.major, ".", properties.minor));
  }
  DeviceProfile profile{
      .name = properties.name,
      .kind = DeviceKind::kCuda,
      .num_units = properties.multiProcessorCount,
      .max_threads_per_unit = properties.maxThreadsPerMultiProcessor,
      .max_ctas_per_unit = properties.maxBlocksPerMultiProcessor,
      .registers_per_unit = properties.regsPerMultiprocessor,
      .shared_bytes_per_unit =
          static_cast<int64_t>(properties.sharedMemPerMultiprocessor),
      .shared_bytes_per_cta =
          static_cast<int64_t>(properties.sharedMemPerBlockOptin),
      .reserved_shared_per_cta =
          static_cast<int64_t>(properties.reservedSharedMemPerBlock),
      .compute_capability = properties.major * 10 + properties.minor,
      .l2_bytes = properties.l2CacheSize,
  };
  const DeviceProfile& h200 = H200Profile();
  if (profile.name == h200.name && profile.num_units == h200.num_units) {
    return WithMemoryOf(profile, h200);
  }
  PAGED_ASSIGN_OR_RETURN(const double nominal, NominalGbPerS(device));
  return ScaleFromH200(profile, nominal);
}

absl::StatusOr<DeviceProfile> ProfileOfEnvironment(const DeviceProfile& own) {
  const char* path = std::getenv("PAGED_PROFILE");
  if (path == nullptr || *path == '\0') return own;
  PAGED_ASSIGN_OR_RETURN(const DeviceProfile given, ReadProfile(path));
  if (given.name == own.name && given.num_units == own.num_units &&
      given.compute_capability == own.compute_capability) {
    return given;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("PAGED_PROFILE must be of this device, ", own.name, " with ",
                   own.num_units, " SMs; got one of ", given.name, " with ",
                   given.num_units));
}

}  // namespace paged::internal
