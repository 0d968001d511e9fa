#include "benchmarks/cuda/gpu_rows.h"

#include <algorithm>
#include <utility>

#include "benchmarks/tiers.h"

namespace paged::benchmarks {
namespace {

bool IsMeasuredInvariant(const BenchShape& shape) {
  const std::vector<BenchShape> shapes = InvariantShapes();
  return std::any_of(shapes.begin(), shapes.end(), [&](const BenchShape& s) {
    return ShapeName(s) == ShapeName(shape);
  });
}

}  // namespace

std::vector<BenchShape> GpuRows::Shapes() const {
  return is_of_cliffs_ ? CliffShapes() : GpuShapes();
}

std::vector<Cache> GpuRows::Caches(const BenchShape& shape) const {
  return is_of_cliffs_ ? std::vector<Cache>{Cache::kCold} : CachesOf(shape);
}

std::vector<std::string> GpuRows::Variants(const BenchShape& shape) const {
  std::vector<std::string> variants;
  if (HasGather(shape)) variants.push_back("gather");
  for (std::string& variant : DecodeVariants(shape)) {
    variants.push_back(std::move(variant));
  }
  if (shape.is_ragged()) variants.push_back("schedule");
  if (HasThrust(shape)) variants.push_back("thrust");
  return variants;
}

// A cliff is a matter of the dispatch's choices alone.
std::vector<std::string> GpuRows::DecodeVariants(
    const BenchShape& shape) const {
  if (is_of_cliffs_ || !shape.model.empty()) return {"auto"};
  std::vector<std::string> variants = {"v1", "split_k", "auto"};
  if (IsMeasuredInvariant(shape)) variants.push_back("auto_invariant");
  return variants;
}

bool GpuRows::HasGather(const BenchShape& shape) const {
  // CUDA cores, which serve these, have no rings to gather through.
  return is_of_cliffs_ ? VariesBlocks(shape) : shape.dtype != DType::kF32;
}

// Where it is quick enough, and has the features.
bool GpuRows::HasThrust(const BenchShape& shape) const {
  return !is_of_cliffs_ && shape.model.empty() &&
         shape.kv_bytes() <=
             LargestBytesOf(Variant::kThrust, DeviceKind::kCuda) &&
         SizeOf(shape.dtype) > 1 && shape.query_dtype() == shape.dtype &&
         shape.scales == ScaleGranularity::kNone &&
         shape.rules == BenchRules{.scale = shape.rules.scale};
}

}  // namespace paged::benchmarks
