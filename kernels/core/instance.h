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
  kCudaCores,  // the same in float32, for every dtype of queries
};

// Rows of an item. CUDA cores keep four dimensions of each in registers for
// every 128.
constexpr int MaxRowsOf(InstanceKind kind) {
  return kind == InstanceKind::kCudaCores ? kMaxRowsPerItem / 2
                                          : kMaxRowsPerItem;
}

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

  constexpr int max_rows() const { return MaxRowsOf(kind); }

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
  constexpr int stage_bytes() const {
    if (!has_tensor_cores()) return 0;
    return kTileTokens * (RowBytes(key_dim, BytesOf(element)) +
                          RowBytes(value_dim, BytesOf(element))) +
           scale_bytes();
  }
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
    return kMaxRowsPerItem * RowBytes(key_dim, 2) +
           (has_byte_elements() ? kMaxRowsPerItem * 4 : 0);
  }
  constexpr int shared_bytes() const { return work_bytes() + query_bytes(); }
};

// Every shape that some instance has.
inline constexpr std::array kInstanceShapes = {
    InstanceShape{4, 2}, InstanceShape{4, 3}, InstanceShape{8, 2},
    InstanceShape{8, 3}, InstanceShape{4, 4}, InstanceShape{8, 4},
    InstanceShape{4, 1}};

namespace instance_list {

struct Dims {
  int key;
  int value;
};

// Of the dimensions that most models have, every shape that some batch is best
// served by; of the others, and with score rules, one or two.
template <typename Visit>
constexpr void VisitOf16Bits(ElementKind element, const Visit& visit) {
  constexpr InstanceShape kAll[] = {{4, 2}, {4, 3}, {8, 2}, {8, 3}};
  constexpr InstanceShape kFew[] = {{4, 2}, {8, 2}};
  // A ring of eight warps would not fit.
  constexpr InstanceShape kLarge[] = {{4, 2}, {4, 3}};
  for (int dim : {64, 128}) {
    for (InstanceShape shape : kAll) {
      visit(element, InstanceKind::kPlain, Dims{dim, dim}, shape);
    }
  }
  for (Dims dims :
       {Dims{80, 80}, Dims{96, 96}, Dims{112, 112}, Dims{192, 128}}) {
    for (InstanceShape shape : kFew) {
      visit(element, InstanceKind::kPlain, dims, shape);
    }
  }
  for (Dims dims : {Dims{192, 192}, Dims{256, 256}}) {
    for (InstanceShape shape : kLarge) {
      visit(element, InstanceKind::kPlain, dims, shape);
    }
  }
  for (int dim : {64, 128}) {
    for (InstanceShape shape : kFew) {
      visit(element, InstanceKind::kGeneral, Dims{dim, dim}, shape);
    }
  }
  visit(element, InstanceKind::kGeneral, Dims{256, 256}, InstanceShape{4, 2});
}

template <typename Visit>
constexpr void VisitOf8Bits(ElementKind element, const Visit& visit) {
  constexpr InstanceShape kShapes[] = {{4, 4}, {8, 4}};
  for (int dim : {64, 128}) {
    for (InstanceShape shape : kShapes) {
      // The others are rare enough to go with the general instances.
      if (element == ElementKind::kE4M3) {
        visit(element, InstanceKind::kPlain, Dims{dim, dim}, shape);
      }
      visit(element, InstanceKind::kGeneral, Dims{dim, dim}, shape);
    }
  }
  visit(element, InstanceKind::kGeneral, Dims{256, 256}, InstanceShape{4, 4});
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
