// The compiled kernels, as plain values: a planner without a GPU reads the
// same list that the CUDA sources instantiate.
#ifndef PAGED_KERNELS_CORE_INSTANCE_H_
#define PAGED_KERNELS_CORE_INSTANCE_H_

#include <algorithm>
#include <array>
#include <cstddef>
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

// The later, the more an instance takes, and the more it costs.
enum class InstanceKind : uint8_t {
  kPlain,      // tensor cores; heads of exactly its dimensions, no score rules
  kGeneral,    // tensor cores; heads up to its dimensions, all score rules
  kCudaCores,  // the same in float32, for every dtype of queries
};

// Rows of an item, which read a tile once. An mma has 16 rows and 8 columns:
// up to 8 rows of Q are its columns, and the tokens its rows; more are its
// rows.
inline constexpr int kNarrowRows = kMmaRows / 2;
inline constexpr int kWideRows = 2 * kMmaRows;

struct InstanceConfig {
  ElementKind element = ElementKind::kF16;  // of the cache
  InstanceKind kind = InstanceKind::kPlain;
  // Of an item. CUDA cores keep four dimensions of each in registers for every
  // 128.
  int max_rows = kMmaRows;
  int key_dim = 0;
  int value_dim = 0;
  InstanceShape shape;

  friend constexpr bool operator==(const InstanceConfig&,
                                   const InstanceConfig&) = default;

  constexpr int threads() const { return shape.warps * 32; }
  constexpr bool is_general() const { return kind != InstanceKind::kPlain; }
  constexpr bool has_tensor_cores() const {
    return kind != InstanceKind::kCudaCores;
  }
  constexpr bool has_byte_elements() const { return BytesOf(element) == 1; }

  // Tiles of a stage: as many bytes of small elements as of others, since it
  // is by the stage that a warp waits and looks for a new maximum.
  static constexpr int TilesPerStage(int element_bytes, int key_dim,
                                     int max_rows) {
    return element_bytes == 1 && key_dim <= 128 && max_rows <= kMmaRows ? 2 : 1;
  }
  constexpr int tiles_per_stage() const {
    return TilesPerStage(BytesOf(element), key_dim, max_rows);
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
  // Biases of a tile's tokens, which lie behind the tiles of all warps.
  constexpr int bias_bytes() const {
    return is_general() && has_tensor_cores() ? kTileTokens * 4 : 0;
  }
  constexpr int ring_bytes() const {
    return shape.warps * shape.stages *
           (stage_bytes() + tiles_per_stage() * bias_bytes());
  }
  // Floats from a row that a warp leaves for the merge to the next: the padding
  // puts what its lanes store at once into different banks.
  constexpr int merge_stride() const {
    return value_dim + (max_rows == kNarrowRows ? 4 : 8);
  }
  // What the warps leave of each row for their merge, and behind it what a CTA
  // leaves for its cluster.
  constexpr int warp_merge_bytes() const {
    return shape.warps * max_rows * (merge_stride() * 4 + 8);
  }
  constexpr int merge_bytes() const {
    return warp_merge_bytes() + max_rows * (value_dim * 4 + 8);
  }
  // The rings, whose bytes the merges use again.
  constexpr int work_bytes() const {
    return (std::max(ring_bytes(), merge_bytes()) + 127) / 128 * 128;
  }
  // Q as the products take it. Of byte elements each row has a scale; CUDA
  // cores keep Q in float32, and each warp the weights of a tile.
  constexpr int query_bytes() const {
    if (!has_tensor_cores()) {
      return max_rows * (key_dim + 4) * 4 +
             shape.warps * (kTileTokens + 1) * max_rows * 4;
    }
    return max_rows * RowBytes(key_dim, 2) +
           (has_byte_elements() ? max_rows * 4 : 0);
  }
  constexpr int shared_bytes() const { return work_bytes() + query_bytes(); }
};

// Every shape that some instance has.
inline constexpr std::array kInstanceShapes = {
    InstanceShape{4, 2}, InstanceShape{4, 3}, InstanceShape{8, 2},
    InstanceShape{8, 3}, InstanceShape{2, 2}, InstanceShape{4, 1},
    InstanceShape{2, 3}};

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
// Of byte elements, six small CTAs on an SM as well, whose starts and ends
// overlap.
inline constexpr InstanceShape kSmall[] = {
    {4, 2}, {4, 3}, {8, 2}, {8, 3}, {2, 2}};
// Two on an SM, of up to eight rows, of all of which a third would fit.
inline constexpr InstanceShape kDeep[] = {{4, 3}, {8, 2}, {8, 3}};
// A ring of eight warps would not fit.
inline constexpr InstanceShape kLarge[] = {{4, 2}, {4, 3}};
inline constexpr InstanceShape kOne[] = {{4, 2}};
// Nor would one of four.
inline constexpr InstanceShape kHuge[] = {{2, 3}};

struct Family {
  ElementKind element;
  InstanceKind kind;
  int max_rows;
};

template <std::size_t kShapes, typename Visit>
constexpr void VisitShapes(Family family, Dims dims,
                           const InstanceShape (&shapes)[kShapes],
                           const Visit& visit) {
  for (InstanceShape shape : shapes) visit(family, dims, shape);
}

template <typename Visit>
constexpr void VisitOf16Bits(ElementKind element, const Visit& visit) {
  const Family narrow = {element, InstanceKind::kPlain, kNarrowRows};
  VisitShapes(narrow, {64, 64}, kAll, visit);
  VisitShapes(narrow, {128, 128}, kDeep, visit);
  VisitShapes(narrow, {512, 512}, kHuge, visit);
  const Family narrow_general = {element, InstanceKind::kGeneral, kNarrowRows};
  VisitShapes(narrow_general, {64, 64}, kFew, visit);
  VisitShapes(narrow_general, {128, 128}, kDeep, visit);
  VisitShapes(narrow_general, {512, 512}, kHuge, visit);
  const Family plain = {element, InstanceKind::kPlain, kMmaRows};
  VisitShapes(plain, {64, 64}, kFew, visit);
  VisitShapes(plain, {128, 128}, kAll, visit);
  VisitShapes(plain, {80, 80}, kPadded, visit);
  VisitShapes(plain, {96, 96}, kPadded, visit);
  VisitShapes(plain, {112, 112}, kPadded, visit);
  VisitShapes(plain, {192, 128}, kFew, visit);
  VisitShapes(plain, {192, 192}, kLarge, visit);
  VisitShapes(plain, {256, 256}, kLarge, visit);
  const Family general = {element, InstanceKind::kGeneral, kMmaRows};
  VisitShapes(general, {64, 64}, kFew, visit);
  VisitShapes(general, {128, 128}, kFew, visit);
  VisitShapes(general, {192, 192}, kOne, visit);
  VisitShapes(general, {256, 256}, kOne, visit);
  const Family wide = {element, InstanceKind::kGeneral, kWideRows};
  VisitShapes(wide, {64, 64}, kFew, visit);
  VisitShapes(wide, {128, 128}, kFew, visit);
}

template <typename Visit>
constexpr void VisitOf8Bits(ElementKind element, const Visit& visit) {
  const Family narrow = {element, InstanceKind::kPlain, kNarrowRows};
  const Family narrow_general = {element, InstanceKind::kGeneral, kNarrowRows};
  const Family plain = {element, InstanceKind::kPlain, kMmaRows};
  const Family general = {element, InstanceKind::kGeneral, kMmaRows};
  if (element == ElementKind::kE4M3) {
    VisitShapes(narrow, {64, 64}, kFew, visit);
    VisitShapes(plain, {64, 64}, kFew, visit);
  }
  VisitShapes(narrow, {128, 128}, kSmall, visit);
  VisitShapes(narrow_general, {128, 128}, kPadded, visit);
  VisitShapes(narrow_general, {512, 512}, kHuge, visit);
  // {4, 2} spills where three CTAs are to fit an SM.
  VisitShapes(plain, {128, 128}, kPadded, visit);
  VisitShapes(general, {64, 64}, kFew, visit);
  VisitShapes(general, {128, 128}, kFew, visit);
  VisitShapes(general, {256, 256}, kOne, visit);
  const Family wide = {element, InstanceKind::kGeneral, kWideRows};
  VisitShapes(wide, {128, 128}, kFew, visit);
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
      visit(Family{element, InstanceKind::kCudaCores, kNarrowRows},
            Dims{dim, dim}, InstanceShape{4, 1});
    }
  }
}

constexpr std::size_t Count() {
  std::size_t count = 0;
  VisitAll([&](Family, Dims, InstanceShape) { ++count; });
  return count;
}

}  // namespace instance_list

inline constexpr auto kInstances = [] {
  std::array<InstanceConfig, instance_list::Count()> all{};
  std::size_t i = 0;
  instance_list::VisitAll([&](instance_list::Family family,
                              instance_list::Dims dims, InstanceShape shape) {
    all[i++] = {family.element, family.kind, family.max_rows,
                dims.key,       dims.value,  shape};
  });
  return all;
}();

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_H_
