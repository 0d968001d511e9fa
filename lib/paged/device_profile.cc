#include "paged/device_profile.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "paged/internal/core_count.h"
#include "paged/internal/scale_profile.h"

namespace paged {
namespace {

constexpr double kH200NominalGbPerS = 4800;
constexpr int kH200Units = 132;

// Limits as CUDA reports them. The figures of memory and launches are fitted to
// decode_benchmark --mode=sweep: 22 shapes, every instance, split count and
// reduction, cold L2, CUDA graphs; then six of them to the 262 shapes of
// dispatch_regret, where what the model chooses costs 1.0001x the best in the
// median, 1.064x at worst.
DeviceProfile MakeH200() {
  return {
      .name = "NVIDIA H200",
      .kind = DeviceKind::kCuda,
      .is_estimated = false,
      .num_units = kH200Units,
      .max_threads_per_unit = 2048,
      .max_ctas_per_unit = 32,
      .registers_per_unit = 65536,
      .shared_bytes_per_unit = 228 * 1024,
      .shared_bytes_per_cta = 227 * 1024,
      .reserved_shared_per_cta = 1024,
      .compute_capability = 90,
      .bandwidth_gb_per_s = 4276,
      .l2_bytes = int64_t{60} << 20,
      // Eight warps with a tile of 8 KB each.
      .knee_units = 43.1,
      .knee_bytes = 64 * 1024,
      .knee_exponent = 0.92,
      .corner_exponent = 3.9,
      .v1_fixed_us = 3.79,
      .us_per_row = 0.056,
      .us_per_row_split = 0.005,
      .us_per_wave = 1.54,
      .early_start_us = 0.34,
      .second_pass = {.fixed_us = 2.83, .us_per_split = 0.14},
      .cluster = {.fixed_us = 0.58, .us_per_split = 0},
      .last_cta = {.fixed_us = 3, .us_per_split = 0.026},
  };
}

DeviceProfile MakeH100() {
  DeviceProfile profile = H200Profile();
  profile.name = "NVIDIA H100 SXM";
  profile.l2_bytes = int64_t{50} << 20;
  return internal::ScaleFromH200(profile, 3350);
}

DeviceProfile MakeRtx3090() {
  return internal::ScaleFromH200({.name = "NVIDIA GeForce RTX 3090",
                                  .kind = DeviceKind::kCuda,
                                  .num_units = 82,
                                  .max_threads_per_unit = 1536,
                                  .max_ctas_per_unit = 16,
                                  .registers_per_unit = 65536,
                                  .shared_bytes_per_unit = 100 * 1024,
                                  .shared_bytes_per_cta = 99 * 1024,
                                  .reserved_shared_per_cta = 1024,
                                  .compute_capability = 86,
                                  .l2_bytes = int64_t{6} << 20},
                                 936);
}

// The vector kernels with AVX-512 on two cores of a Zen 4 server, fp16,
// head_dim 128, from memory: 17 to 19 GB/s of one thread alone (blocks of 16),
// 29 of two (blocks of 128, heads outermost). Other memories feed more or fewer
// threads, and the scalar kernels do 1 GB/s: what the model compares are shares
// of the threads, which the rate does not change.
constexpr double kCpuGbPerSPerThread = 15.0;

}  // namespace

namespace internal {

DeviceProfile WithMemoryOf(DeviceProfile profile,
                           const DeviceProfile& measured) {
  profile.is_estimated = measured.is_estimated;
  profile.bandwidth_gb_per_s = measured.bandwidth_gb_per_s;
  profile.knee_units = measured.knee_units;
  profile.knee_bytes = measured.knee_bytes;
  profile.knee_exponent = measured.knee_exponent;
  profile.corner_exponent = measured.corner_exponent;
  profile.v1_fixed_us = measured.v1_fixed_us;
  profile.us_per_row = measured.us_per_row;
  profile.us_per_row_split = measured.us_per_row_split;
  profile.us_per_wave = measured.us_per_wave;
  // Of sm_90 and up.
  profile.early_start_us =
      profile.compute_capability >= 90 ? measured.early_start_us : 0;
  profile.second_pass = measured.second_pass;
  profile.cluster = measured.cluster;
  profile.last_cta = measured.last_cta;
  return profile;
}

DeviceProfile ScaleFromH200(DeviceProfile profile, double nominal_gb_per_s) {
  const double rate = nominal_gb_per_s / kH200NominalGbPerS;
  const double units = static_cast<double>(profile.num_units) / kH200Units;
  profile = WithMemoryOf(profile, H200Profile());
  profile.is_estimated = true;
  profile.bandwidth_gb_per_s *= rate;
  profile.knee_units *= units;
  profile.knee_bytes *= rate / units;
  return profile;
}

}  // namespace internal

const DeviceProfile& H200Profile() {
  static const DeviceProfile* const kProfile = new DeviceProfile(MakeH200());
  return *kProfile;
}

const DeviceProfile& H100Profile() {
  static const DeviceProfile* const kProfile = new DeviceProfile(MakeH100());
  return *kProfile;
}

const DeviceProfile& Rtx3090Profile() {
  static const DeviceProfile* const kProfile = new DeviceProfile(MakeRtx3090());
  return *kProfile;
}

DeviceProfile CpuProfile(int num_threads) {
  const int threads =
      num_threads > 0 ? num_threads : internal::NumUsableCores();
  return {
      .name =
          absl::StrCat("CPU, ", threads, threads == 1 ? " thread" : " threads"),
      .kind = DeviceKind::kCpu,
      .num_units = threads,
      .max_ctas_per_unit = 1,
      .bandwidth_gb_per_s = kCpuGbPerSPerThread * threads,
      .knee_units = static_cast<double>(threads),
      // Two threads that are awake, on the same cores, fp16: what two splits
      // take beyond half of the work each is 1.1 to 1.3 us for 1 to 3 kv heads
      // of up to 8 rows, 3.0 us for 8 of 4 rows and 5.2 with four splits, of
      // which 2.2 and 4.4 are by the partials' bytes. So 3 kv heads of 3 rows
      // and head_dim 64, which deal 2 to 1, take 12.3 us in two splits at 511
      // tokens and 14.9 in one; 7.1 and 7.8 at 256.
      .v1_fixed_us = 2,
      .second_pass = {.fixed_us = 1, .us_per_split = 0.1},
  };
}

absl::StatusOr<DeviceProfile> FindProfile(absl::string_view name) {
  if (name == "h200") return H200Profile();
  if (name == "h100") return H100Profile();
  if (name == "rtx3090") return Rtx3090Profile();
  if (name == "cpu") return CpuProfile();
  return absl::NotFoundError(
      absl::StrCat("device must be h200, h100, rtx3090 or cpu; got ", name));
}

}  // namespace paged
