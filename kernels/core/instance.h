// The compiled kernels, as plain values: a planner without a GPU reads the
// same list that the CUDA sources instantiate.
#ifndef PAGED_KERNELS_CORE_INSTANCE_H_
#define PAGED_KERNELS_CORE_INSTANCE_H_

#include <array>
#include <cstdint>

#include "kernels/core/dtype.h"
#include "kernels/core/partition.h"

namespace paged {

// CTAs of a cluster that every GPU with clusters can run.
inline constexpr int kMaxClusterSplits = 8;

// Warps of a CTA, and tiles that each keeps in its ring in shared memory.
struct InstanceShape {
  int warps = 0;
  int stages = 0;
  friend constexpr bool operator==(const InstanceShape&,
                                   const InstanceShape&) = default;
};

struct InstanceConfig {
  ElementKind element = ElementKind::kF16;
  int head_dim = 0;
  InstanceShape shape;
  int registers_per_thread = 0;  // on sm_90

  friend constexpr bool operator==(const InstanceConfig&,
                                   const InstanceConfig&) = default;

  constexpr int threads() const { return shape.warps * 32; }
  // K and V of one tile, 16-bit elements.
  constexpr int stage_bytes() const { return 2 * kTileTokens * head_dim * 2; }
  constexpr int ring_bytes() const {
    return shape.warps * shape.stages * stage_bytes();
  }
  constexpr int query_bytes() const { return kMaxRowsPerItem * head_dim * 2; }
  // The rings, whose bytes the merge of the warps uses again, and the query.
  constexpr int shared_bytes() const { return ring_bytes() + query_bytes(); }
};

// A new head_dim or shape is one entry here.
inline constexpr std::array kInstanceElements = {ElementKind::kF16,
                                                 ElementKind::kBF16};
inline constexpr std::array kInstanceHeadDims = {64, 128};
inline constexpr std::array kInstanceShapes = {
    InstanceShape{4, 2}, InstanceShape{4, 3}, InstanceShape{8, 2},
    InstanceShape{8, 3}};

// Of the ending that needs the most, as ptxas 13.0 reports them for sm_90; a
// GPU test holds them against CUDA's own report.
constexpr int RegistersOf(int head_dim, InstanceShape shape) {
  if (head_dim == 64) {
    return shape.warps == 4 ? 123 + shape.stages : 122 + shape.stages;
  }
  return shape.stages == 3 ? 189 : shape.warps == 8 ? 187 : 188;
}

inline constexpr auto kInstances = [] {
  std::array<InstanceConfig, kInstanceElements.size() *
                                 kInstanceHeadDims.size() *
                                 kInstanceShapes.size()>
      all{};
  std::size_t i = 0;
  for (ElementKind element : kInstanceElements) {
    for (int head_dim : kInstanceHeadDims) {
      for (InstanceShape shape : kInstanceShapes) {
        all[i++] = {element, head_dim, shape, RegistersOf(head_dim, shape)};
      }
    }
  }
  return all;
}();

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_H_
