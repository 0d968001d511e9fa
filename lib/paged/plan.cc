#include "paged/plan.h"

#include <bit>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/core/hash.h"
#include "kernels/core/partition.h"
#include "paged/internal/candidates.h"
#include "paged/internal/profile_range.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

// Predictions closer than this are the same: far above rounding, far below
// what any clock tells apart.
constexpr double kTieUs = 1e-9;

uint64_t BitsOf(int64_t x) { return static_cast<uint64_t>(x); }
uint64_t BitsOf(double x) { return std::bit_cast<uint64_t>(x); }

// Each with its place, and side by side: every run compares a fingerprint.
template <typename... Fields>
uint64_t HashOf(Fields... fields) {
  uint64_t hash = 0;
  uint64_t place = 0;
  ((hash += Mix(BitsOf(fields) ^ (++place << 56))), ...);
  return hash;
}

}  // namespace

absl::string_view NameOf(DecidedBy decided_by) {
  switch (decided_by) {
    case DecidedBy::kCostModel:
      return "cost_model";
    case DecidedBy::kVariantOption:
      return "--variant";
    case DecidedBy::kSplitsOption:
      return "--splits";
    case DecidedBy::kVariantEnv:
      return "PAGED_VARIANT";
    case DecidedBy::kSplitsEnv:
      return "PAGED_SPLITS";
    case DecidedBy::kPartitionOption:
      return "--partition";
    case DecidedBy::kPartitionEnv:
      return "PAGED_PARTITION";
    case DecidedBy::kBatchInvariance:
      return "--batch_invariance";
  }
  return "unknown";
}

std::string NameOf(const Instance& instance) {
  // thrust and reference run no instance.
  if (instance.head_dim == 0) return "none";
  const std::string stem = absl::StrCat(
      NameOf(instance.kv_dtype), "_d", instance.head_dim,
      instance.value_dim != instance.head_dim
          ? absl::StrCat("v", instance.value_dim)
          : "",
      instance.on_cuda_cores ? "_cores"
      : instance.is_general  ? "_general"
                             : "",
      instance.max_rows != 0 ? absl::StrCat("_r", instance.max_rows) : "");
  if (instance.warps == 0) return absl::StrCat(stem, "_cpu");
  return absl::StrCat(stem, "_w", instance.warps, "s", instance.stages);
}

std::string ToString(const DecodePlan& plan) {
  return absl::StrFormat(
      "variant=%s partition=%s splits=%d reduction=%s instance=%s ctas=%d "
      "resident_ctas=%d waves=%.2f predicted_us=%.1f decided_by=%s",
      NameOf(plan.variant), NameOf(plan.partition), plan.num_splits,
      NameOf(plan.reduction), NameOf(plan.instance), plan.num_ctas,
      plan.resident_ctas, plan.waves, plan.predicted_us,
      NameOf(plan.decided_by));
}

// Its name, and whether it was measured, change no plan.
uint64_t FingerprintOf(const DeviceProfile& p) {
  return HashOf(int64_t{p.kind == DeviceKind::kCuda}, int64_t{p.num_units},
                int64_t{p.max_threads_per_unit}, int64_t{p.max_ctas_per_unit},
                int64_t{p.registers_per_unit}, p.shared_bytes_per_unit,
                p.shared_bytes_per_cta, p.reserved_shared_per_cta,
                int64_t{p.compute_capability}, p.bandwidth_gb_per_s, p.l2_bytes,
                p.knee_units, p.knee_bytes, p.knee_exponent, p.corner_exponent,
                p.v1_fixed_us, p.us_per_row, p.us_per_row_split, p.us_per_wave,
                p.early_start_us, p.second_pass.fixed_us,
                p.second_pass.us_per_split, p.cluster.fixed_us,
                p.cluster.us_per_split, p.last_cta.fixed_us,
                p.last_cta.us_per_split);
}

absl::StatusOr<DecodePlan> MakePlan(const DecodeProblem& problem,
                                    const DeviceProfile& profile,
                                    const DecodeOptions& options) {
  const internal::ProfileRange range("paged/plan");
  std::optional<DecodePlan> best;
  double limit_us = std::numeric_limits<double>::infinity();
  // What to say when nothing can run.
  DecodePlan blocked;
  auto first_obstacle = internal::Obstacle::kNone;
  PAGED_RETURN_IF_ERROR(internal::VisitCandidates(
      problem, profile, options,
      [&](const DecodePlan& plan, internal::Obstacle obstacle) {
        if (obstacle != internal::Obstacle::kNone) {
          if (first_obstacle == internal::Obstacle::kNone) {
            first_obstacle = obstacle;
            blocked = plan;
          }
        } else if (!best.has_value() || plan.predicted_us < limit_us) {
          // Candidates come in the order of preference: a later one has to win.
          best = plan;
          limit_us = plan.predicted_us - kTieUs;
        }
        return limit_us;
      }));
  if (best.has_value()) return *best;
  return absl::InvalidArgumentError(
      absl::StrCat("no plan can run on ", profile.name, ": ",
                   internal::Describe(first_obstacle, blocked, profile)));
}

}  // namespace paged
