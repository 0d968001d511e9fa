#include "apps/scan_points.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/flags.h"
#include "apps/words.h"

namespace paged {
namespace {

using Points = std::vector<BenchPoint>;

std::vector<PointTier> TiersOf(const std::vector<Variant>& variants) {
  std::vector<PointTier> tiers;
  for (Variant variant : variants) tiers.push_back({.variant = variant});
  return tiers;
}

std::vector<PointTier> AllTiers() {
  return TiersOf({Variant::kReference, Variant::kThrust, Variant::kV1,
                  Variant::kSplitK, Variant::kAuto});
}

std::vector<PointTier> FastTiers() {
  return TiersOf({Variant::kV1, Variant::kSplitK, Variant::kAuto});
}

// The fast ones, and split_k with each of these counts: what the automatic
// choice is held against.
std::vector<PointTier> ForcedSplits(const std::vector<int>& splits) {
  std::vector<PointTier> tiers = FastTiers();
  for (int n : splits) {
    tiers.push_back({.variant = Variant::kSplitK, .splits = n});
  }
  return tiers;
}

// Powers of two from `first` to `last`.
std::vector<int> Doubling(int first, int last) {
  std::vector<int> values;
  for (int value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

std::vector<int> From1To(int last) {
  std::vector<int> values(static_cast<std::size_t>(last));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// A point for each value of a field, at each batch size.
Points Over(const ScanRequest& request, const std::vector<int>& values,
            const std::vector<PointTier>& tiers,
            const std::function<void(ShapeRequest&, int)>& set) {
  Points points;
  for (int num_seqs : request.num_seqs) {
    for (int value : values) {
      BenchPoint point = {.shape = request.shape, .tiers = tiers};
      point.shape.num_seqs = num_seqs;
      set(point.shape, value);
      points.push_back(std::move(point));
    }
  }
  return points;
}

Points OverContext(const ScanRequest& request) {
  return Over(request, Doubling(128, request.is_long ? 131072 : 4096),
              AllTiers(), [](ShapeRequest& shape, int context_len) {
                shape.context_len = context_len;
              });
}

Points OverBatch(ScanRequest request) {
  request.num_seqs = {1};
  return Over(
      request, Doubling(1, 256), FastTiers(),
      [](ShapeRequest& shape, int num_seqs) { shape.num_seqs = num_seqs; });
}

Points OverSplits(const ScanRequest& request) {
  return Over(request, {0}, ForcedSplits(Doubling(1, 64)),
              [](ShapeRequest&, int) {});
}

Points OverBlockSize(const ScanRequest& request) {
  return Over(request, {1, 8, 16, 32, 64, 128, 256}, FastTiers(),
              [](ShapeRequest& shape, int block_size) {
                shape.block_size = block_size;
              });
}

Points OverGroup(const ScanRequest& request) {
  return Over(request, From1To(16), FastTiers(),
              [](ShapeRequest& shape, int group) {
                shape.num_q_heads = shape.num_kv_heads * group;
              });
}

Points OverGrid(ScanRequest request) {
  request.num_seqs = Doubling(1, 128);
  return Over(request, Doubling(128, request.is_long ? 131072 : 8192),
              ForcedSplits(Doubling(2, 32)),
              [](ShapeRequest& shape, int context_len) {
                shape.context_len = context_len;
              });
}

// Adds a point, or its tiers to the point of the same shape.
void Merge(BenchPoint point, Points& points) {
  for (BenchPoint& known : points) {
    if (known.shape != point.shape) continue;
    for (const PointTier& tier : point.tiers) {
      if (std::find(known.tiers.begin(), known.tiers.end(), tier) ==
          known.tiers.end()) {
        known.tiers.push_back(tier);
      }
    }
    return;
  }
  points.push_back(std::move(point));
}

struct Scan {
  const char* name;
  std::function<Points(const ScanRequest&)> points;
};

const std::vector<Scan>& Scans() {
  static const auto* const scans = new std::vector<Scan>{
      {"context", OverContext}, {"batch", OverBatch},
      {"splits", OverSplits},   {"block_size", OverBlockSize},
      {"group", OverGroup},     {"grid", OverGrid}};
  return *scans;
}

}  // namespace

std::vector<std::string> ScanNames() {
  std::vector<std::string> names;
  for (const Scan& scan : Scans()) names.push_back(scan.name);
  return names;
}

absl::StatusOr<Points> ScanPoints(const ScanRequest& request) {
  Points points;
  for (const std::string& name : request.over) {
    bool is_known = false;
    for (const Scan& scan : Scans()) {
      if (name != scan.name && name != "all") continue;
      is_known = true;
      for (BenchPoint& point : scan.points(request)) {
        Merge(std::move(point), points);
      }
    }
    if (!is_known) {
      std::vector<std::string> names = ScanNames();
      names.push_back("all");
      return absl::InvalidArgumentError(absl::StrCat(
          "--over must be of ", AnyOf(names), "; got ", Printable(name)));
    }
  }
  return points;
}

}  // namespace paged
