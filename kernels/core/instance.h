// The compiled kernels, as plain values: a planner without a GPU reads the
// same list that the CUDA sources instantiate.
#ifndef PAGED_KERNELS_CORE_INSTANCE_H_
#define PAGED_KERNELS_CORE_INSTANCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "kernels/core/dtype.h"
#include "kernels/core/instance_registers.h"
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

// The later, the more an instance takes, and the more it costs.
enum class InstanceKind : uint8_t {
  kPlain,      // tensor cores; heads of exactly its dimensions, no score rules
  kGeneral,    // tensor cores; heads up to its dimensions, all score rules
  kWide,       // the same for twice as many rows, which read a tile once
  kCudaCores,  // the same in float32, for every dtype of queries
};

struct InstanceConfig {
  ElementKind element = ElementKind::kF16;  // of the cache
  InstanceKind kind = InstanceKind::kPlain;
  int key_dim = 0;
  int value_dim = 0;
  InstanceShape shape;
  int registers_per_thread = 0;  // on sm_90

  friend constexpr bool operator==(const InstanceConfig&,
                                   const InstanceConfig&) = default;

  constexpr int threads() const { return shape.warps * 32; }
  constexpr bool is_general() const { return kind != InstanceKind::kPlain; }
  constexpr bool has_tensor_cores() const {
    return kind != InstanceKind::kCudaCores;
  }
  constexpr bool has_byte_elements() const { return BytesOf(element) == 1; }

  // Rows of an item. CUDA cores keep four dimensions of each in registers for
  // every 128.
  constexpr int max_rows() const {
    return kind == InstanceKind::kWide        ? 2 * kMmaRows
           : kind == InstanceKind::kCudaCores ? kMmaRows / 2
                                              : kMmaRows;
  }
  // Tiles of a stage: as many bytes of small elements as of others, since it
  // is by the stage that a warp waits and looks for a new maximum.
  static constexpr int TilesPerStage(int element_bytes, int key_dim) {
    return element_bytes == 1 && key_dim <= 128 ? 2 : 1;
  }
  constexpr int tiles_per_stage() const {
    return TilesPerStage(BytesOf(element), key_dim);
  }

  // A row in shared memory: whole groups of the eight 16-byte chunks that its
  // swizzle permutes.
  static constexpr int RowBytes(int dim, int element_bytes) {
    return (dim * element_bytes + 127) / 128 * 128;
  }
  // Scales of a tile's keys and values, where each token has its own.
  constexpr int scale_bytes() const {
    return is_general() && has_byte_elements() ? 2 * kTileTokens * 4 : 0;
  }
  // K and V of one tile. CUDA cores read the cache without a ring.
  constexpr int tile_bytes() const {
    if (!has_tensor_cores()) return 0;
    return kTileTokens * (RowBytes(key_dim, BytesOf(element)) +
                          RowBytes(value_dim, BytesOf(element))) +
           scale_bytes();
  }
  constexpr int stage_bytes() const { return tiles_per_stage() * tile_bytes(); }
  constexpr int ring_bytes() const {
    return shape.warps * shape.stages * stage_bytes();
  }
  // What the warps leave of each row for their merge, with eight floats of
  // padding, and behind it what a CTA leaves for its cluster.
  constexpr int warp_merge_bytes() const {
    return shape.warps * max_rows() * ((value_dim + 8) * 4 + 8);
  }
  constexpr int merge_bytes() const {
    return warp_merge_bytes() + max_rows() * (value_dim * 4 + 8);
  }
  // The rings, whose bytes the merges use again.
  constexpr int work_bytes() const {
    return (std::max(ring_bytes(), merge_bytes()) + 127) / 128 * 128;
  }
  // Q as the products take it. Of byte elements each row has a scale; CUDA
  // cores keep Q in float32, and each warp the weights of a tile.
  constexpr int query_bytes() const {
    if (!has_tensor_cores()) {
      return max_rows() * (key_dim + 4) * 4 +
             shape.warps * (kTileTokens + 1) * max_rows() * 4;
    }
    return max_rows() * RowBytes(key_dim, 2) +
           (has_byte_elements() ? max_rows() * 4 : 0);
  }
  constexpr int shared_bytes() const { return work_bytes() + query_bytes(); }
};

// Every shape that some instance has.
inline constexpr std::array kInstanceShapes = {
    InstanceShape{4, 2}, InstanceShape{4, 3}, InstanceShape{8, 2},
    InstanceShape{8, 3}, InstanceShape{4, 1}};

namespace instance_list {

struct Dims {
  int key;
  int value;
};

// Of the dimensions that most models have, every shape that some batch is best
// served by; of the others, and with score rules, one or two.
inline constexpr InstanceShape kAll[] = {{4, 2}, {4, 3}, {8, 2}, {8, 3}};
inline constexpr InstanceShape kFew[] = {{4, 2}, {8, 2}};
// Two CTAs on an SM, where rings are padded and registers would let a third in.
inline constexpr InstanceShape kPadded[] = {{4, 3}, {8, 2}};
// A ring of eight warps would not fit.
inline constexpr InstanceShape kLarge[] = {{4, 2}, {4, 3}};
inline constexpr InstanceShape kOne[] = {{4, 2}};

template <std::size_t kShapes, typename Visit>
constexpr void VisitShapes(ElementKind element, InstanceKind kind, Dims dims,
                           const InstanceShape (&shapes)[kShapes],
                           const Visit& visit) {
  for (InstanceShape shape : shapes) visit(element, kind, dims, shape);
}

template <typename Visit>
constexpr void VisitOf16Bits(ElementKind element, const Visit& visit) {
  constexpr InstanceKind kPlain = InstanceKind::kPlain;
  constexpr InstanceKind kGeneral = InstanceKind::kGeneral;
  VisitShapes(element, kPlain, {64, 64}, kAll, visit);
  VisitShapes(element, kPlain, {128, 128}, kAll, visit);
  VisitShapes(element, kPlain, {80, 80}, kPadded, visit);
  VisitShapes(element, kPlain, {96, 96}, kPadded, visit);
  VisitShapes(element, kPlain, {112, 112}, kPadded, visit);
  VisitShapes(element, kPlain, {192, 128}, kFew, visit);
  VisitShapes(element, kPlain, {192, 192}, kLarge, visit);
  VisitShapes(element, kPlain, {256, 256}, kLarge, visit);
  VisitShapes(element, kGeneral, {64, 64}, kFew, visit);
  VisitShapes(element, kGeneral, {128, 128}, kFew, visit);
  VisitShapes(element, kGeneral, {192, 192}, kOne, visit);
  VisitShapes(element, kGeneral, {256, 256}, kOne, visit);
  VisitShapes(element, InstanceKind::kWide, {64, 64}, kFew, visit);
  VisitShapes(element, InstanceKind::kWide, {128, 128}, kFew, visit);
}

template <typename Visit>
constexpr void VisitOf8Bits(ElementKind element, const Visit& visit) {
  constexpr InstanceKind kPlain = InstanceKind::kPlain;
  constexpr InstanceKind kGeneral = InstanceKind::kGeneral;
  if (element == ElementKind::kE4M3) {
    VisitShapes(element, kPlain, {64, 64}, kFew, visit);
    VisitShapes(element, kPlain, {128, 128}, kAll, visit);
  } else if (element == ElementKind::kInt8) {
    VisitShapes(element, kPlain, {128, 128}, kFew, visit);
  } else {
    // {4, 2} spills where three CTAs are to fit an SM.
    VisitShapes(element, kPlain, {128, 128}, kPadded, visit);
  }
  VisitShapes(element, kGeneral, {64, 64}, kFew, visit);
  VisitShapes(element, kGeneral, {128, 128}, kFew, visit);
  VisitShapes(element, kGeneral, {256, 256}, kOne, visit);
}

template <typename Visit>
constexpr void VisitAll(const Visit& visit) {
  for (ElementKind element : {ElementKind::kF16, ElementKind::kBF16}) {
    VisitOf16Bits(element, visit);
  }
  for (ElementKind element :
       {ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8}) {
    VisitOf8Bits(element, visit);
  }
  for (ElementKind element :
       {ElementKind::kF16, ElementKind::kBF16, ElementKind::kF32,
        ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8}) {
    for (int dim : {128, 512}) {
      visit(element, InstanceKind::kCudaCores, Dims{dim, dim},
            InstanceShape{4, 1});
    }
  }
}

constexpr std::size_t Count() {
  std::size_t count = 0;
  VisitAll([&](ElementKind, InstanceKind, Dims, InstanceShape) { ++count; });
  return count;
}

}  // namespace instance_list

inline constexpr auto kInstances = [] {
  std::array<InstanceConfig, instance_list::Count()> all{};
  static_assert(std::size(kInstanceRegisters) == instance_list::Count());
  std::size_t i = 0;
  instance_list::VisitAll([&](ElementKind element, InstanceKind kind,
                              instance_list::Dims dims, InstanceShape shape) {
    all[i] = {element,    kind,  dims.key,
              dims.value, shape, kInstanceRegisters[i]};
    ++i;
  });
  return all;
}();

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_H_
