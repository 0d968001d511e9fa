#include "benchmarks/tiers.h"

#include <limits>

#include "absl/strings/str_format.h"

namespace paged::benchmarks {

int64_t LargestBytesOf(Variant variant, DeviceKind kind) {
  switch (variant) {
    case Variant::kReference:
      return 5'000'000;
    case Variant::kThrust:
      return kind == DeviceKind::kCpu ? 20'000'000 : 300'000'000;
    case Variant::kAuto:
    case Variant::kV1:
    case Variant::kSplitK:
      break;
  }
  return std::numeric_limits<int64_t>::max();
}

absl::Status CheckFits(const BenchShape& shape, int64_t rotate_bytes,
                       int64_t free_bytes) {
  const int64_t needed = shape.kv_bytes() * NumSets(shape, rotate_bytes);
  if (static_cast<double>(needed) <= 0.9 * static_cast<double>(free_bytes)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s needs %.1f GB for its inputs; %.1f GB are free",
                      ShapeName(shape), static_cast<double>(needed) * 1e-9,
                      static_cast<double>(free_bytes) * 1e-9));
}

}  // namespace paged::benchmarks
