// What the cost model knows about a device. A profile is a plain value, so
// every decision can be made, explained and tested without the device.
//
// Example:
//
//     const paged::DeviceProfile& h200 = paged::H200Profile();
//     CHECK_EQ(h200.num_units, 132);
//     CHECK(!h200.is_estimated);
#ifndef PAGED_LIB_PAGED_DEVICE_PROFILE_H_
#define PAGED_LIB_PAGED_DEVICE_PROFILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paged {

enum class DeviceKind : uint8_t { kCpu, kCuda };

struct DeviceProfile {
  std::string name;
  DeviceKind kind = DeviceKind::kCuda;
  bool is_estimated = false;  // from a data sheet, not measured

  int num_units = 1;  // SMs of a GPU, threads of a CPU
  // Limits that decide how many CTAs are resident on an SM.
  int max_threads_per_unit = 0;
  int max_ctas_per_unit = 0;
  int registers_per_unit = 0;
  int64_t shared_bytes_per_unit = 0;
  int64_t shared_bytes_per_cta = 0;     // the opt-in limit
  int64_t reserved_shared_per_cta = 0;  // taken by the system
  int compute_capability = 0;           // 90 for 9.0

  double bandwidth_gb_per_s = 0;  // of gathered blocks, the whole device
  int64_t l2_bytes = 0;

  // Busy units that saturate the memory: `knee_units` when the warps of each
  // work on `knee_bytes` of tiles at a time, and with fewer bytes
  // knee_units * (knee_bytes / bytes) ^ knee_exponent. An exponent of at most
  // 1 keeps the predicted time from rising with the number of units.
  double knee_units = 1;
  double knee_bytes = 1;
  double knee_exponent = 1;
  // How sharp the corner is where units stop being the limit and the memory
  // starts: the two times are added in this norm. 0 takes the larger one.
  double corner_exponent = 0;

  // Microseconds of a launch of v1, and what a reduction adds to it.
  struct ReductionCost {
    double fixed_us = 0;
    double us_per_split = 0;
    friend bool operator==(const ReductionCost&,
                           const ReductionCost&) = default;
  };
  double v1_fixed_us = 0;
  double us_per_row = 0;        // of an item, once
  double us_per_row_split = 0;  // of an item that is merged, times its splits
  double us_per_wave = 0;       // beyond the first: CTAs that start and end
  double early_start_us = 0;    // that an early launch hides; 0: it cannot be
  ReductionCost second_pass = {};
  ReductionCost cluster = {};
  ReductionCost last_cta = {};

  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

// NVIDIA H200, measured (benchmarks/results/h200).
const DeviceProfile& H200Profile();
// NVIDIA H100 SXM, from its data sheet and the H200's knee.
const DeviceProfile& H100Profile();
// NVIDIA GeForce RTX 3090, from its data sheet and the H200's knee.
const DeviceProfile& Rtx3090Profile();
// This machine's processor with `num_threads` threads (0: one per core that
// the process may use).
DeviceProfile CpuProfile(int num_threads = 0);

// "h200", "h100", "rtx3090" or "cpu". NotFound lists them.
absl::StatusOr<DeviceProfile> FindProfile(absl::string_view name);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_DEVICE_PROFILE_H_
