#include "benchmarks/cuda/device_context.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/cuda/problem.h"

namespace paged::benchmarks {
namespace {

int Attribute(cudaDeviceAttr attribute) {
  int value = 0;
  CheckCuda(cudaDeviceGetAttribute(&value, attribute, 0),
            "cudaDeviceGetAttribute");
  return value;
}

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> DeviceContext(
    Backend& backend, cudaStream_t stream) {
  cudaDeviceProp properties;
  CheckCuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  int runtime = 0;
  int driver = 0;
  CheckCuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  CheckCuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");

  // A gigabyte of random blocks: what this very unit can read.
  BenchShape large;
  large.context_lens.assign(64, 4096);
  large.num_kv_heads = 8;
  large.group = 4;
  CudaProblem problem(large, backend, stream);
  const absl::StatusOr<BestGather> best =
      FindBestGather(problem, Cache::kCold, stream);
  const double ceiling =
      best.ok() ? static_cast<double>(large.kv_bytes()) / best->time_us * 1e-3
                : 0;
  return {
      {"backend", "cuda"},
      {"device", properties.name},
      {"compute_capability",
       absl::StrCat(properties.major, ".", properties.minor)},
      {"num_sms", absl::StrCat(properties.multiProcessorCount)},
      {"l2_bytes", absl::StrCat(properties.l2CacheSize)},
      {"memory_bytes", absl::StrCat(properties.totalGlobalMem)},
      {"memory_clock_khz", absl::StrCat(Attribute(cudaDevAttrMemoryClockRate))},
      {"sm_clock_khz", absl::StrCat(Attribute(cudaDevAttrClockRate))},
      {"cuda_runtime", VersionText(runtime)},
      {"cuda_driver_api", VersionText(driver)},
      {"gather_ceiling_gb_per_s", absl::StrFormat("%.0f", ceiling)}};
}

}  // namespace paged::benchmarks
