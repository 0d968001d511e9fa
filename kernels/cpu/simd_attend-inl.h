// The loop of the vector kernels: the rows of an item, for several kv heads,
// against its tiles. As AttendRange of attend_range.h, with the tiles outermost
// and the heads inside, the order in which a block of all heads lies in memory.
#if defined(PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/simd_kernels.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_scratch.h"
#include "kernels/cpu/simd_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// Where one tile's tokens lie, for kv head 0. Past `num_tokens` the last token
// is repeated: what lies behind the context is never read.
template <typename Kv>
struct Tile {
  int num_tokens;
  const Kv* keys[kTileTokens];
  const Kv* values[kTileTokens];
};

template <typename Kv>
HWY_INLINE void FindTile(const DecodeParams& p, const WorkItem& item,
                         int tile_idx, Tile<Kv>& tile) {
  const int first = tile_idx * kTileTokens;
  const int32_t* table = p.block_tables + item.table_row * p.block_table_stride;
  tile.num_tokens = std::min(kTileTokens, item.context_len - first);
  SlotPlace place = PlaceOf(first, p.block_size);
  const Kv* key = nullptr;
  const Kv* value = nullptr;
  for (int t = 0; t < tile.num_tokens; ++t) {
    if (t == 0 || place.slot == p.block_size) {
      if (t > 0) place = {place.logical_block + 1, 0};
      const int64_t block = table[place.logical_block];
      key = static_cast<const Kv*>(p.key.data) +
            OffsetOf(p.key, block, place.slot, 0);
      value = static_cast<const Kv*>(p.value.data) +
              OffsetOf(p.value, block, place.slot, 0);
    }
    tile.keys[t] = key;
    tile.values[t] = value;
    key += p.key.slot_stride;
    value += p.value.slot_stride;
    ++place.slot;
  }
  for (int t = tile.num_tokens; t < kTileTokens; ++t) {
    tile.keys[t] = tile.keys[tile.num_tokens - 1];
    tile.values[t] = tile.values[tile.num_tokens - 1];
  }
}

template <int R, typename Kv>
HWY_NOINLINE void AttendChunk(const TokenRows<Kv>& keys,
                              const TokenRows<Kv>& values, float scale_log2,
                              int head, int first_row, SimdScratch& scratch) {
  HWY_ALIGN float scores[kTileTokens * R];
  float* max = scratch.lanes(head, first_row);
  float* sum = max + kMaxSimdLanes;
  float* sums = scratch.values(head, first_row);
  ScoreTile<R>(keys, scratch.query(head, first_row), scratch.query_stride(),
               scale_log2, scores);
  PushTile<R>(keys.num_tokens, scores, max, sum, sums, scratch.value_stride());
  AddTileValues<R>(values, scores, sums, scratch.value_stride());
}

template <int R>
void FoldChunk(int head, int first_row, SimdScratch& scratch) {
  constexpr int T = kTileOf<R>;
  const float* max = scratch.lanes(head, first_row);
  const float* sum = max + kMaxSimdLanes;
  for (int r = 0; r < R; ++r) {
    float total = 0.0f;
    for (int t = 0; t < T; ++t) total += sum[r * T + t];
    scratch.state(head, first_row + r) = {max[r * T], total};
  }
}

// One tile of one kv head against all rows. The first chunk fetches the tile
// that comes next.
template <typename Kv>
void AttendTile(const DecodeParams& p, const Tile<Kv>& tile,
                const Tile<Kv>& next, int kv_head, int head,
                SimdScratch& scratch) {
  TokenRows<Kv> keys{tile.num_tokens, tile.keys, next.keys,
                     kv_head * p.key.head_stride, p.key_dim};
  TokenRows<Kv> values{tile.num_tokens, tile.values, next.values,
                       kv_head * p.value.head_stride, p.value_dim};
  for (int row = 0; row < scratch.num_rows();) {
    const int rows = ChunkRows(scratch.num_rows() - row);
    switch (rows) {
      case 8:
        AttendChunk<8>(keys, values, p.scale_log2, head, row, scratch);
        break;
      case 4:
        AttendChunk<4>(keys, values, p.scale_log2, head, row, scratch);
        break;
      case 2:
        AttendChunk<2>(keys, values, p.scale_log2, head, row, scratch);
        break;
      default:
        AttendChunk<1>(keys, values, p.scale_log2, head, row, scratch);
    }
    keys.next = values.next = nullptr;
    row += rows;
  }
}

inline void FoldLanes(SimdScratch& scratch) {
  for (int head = 0; head < scratch.num_heads(); ++head) {
    for (int row = 0; row < scratch.num_rows();) {
      const int rows = ChunkRows(scratch.num_rows() - row);
      if (rows == 8) FoldChunk<8>(head, row, scratch);
      if (rows == 4) FoldChunk<4>(head, row, scratch);
      if (rows == 2) FoldChunk<2>(head, row, scratch);
      if (rows == 1) FoldChunk<1>(head, row, scratch);
      row += rows;
    }
  }
}

template <typename Kv>
void Attend(const DecodeParams& p, const WorkItem& item, int first_head,
            SimdScratch& scratch) {
  Tile<Kv> tiles[2];
  if (item.first_tile < item.last_tile) {
    FindTile(p, item, item.first_tile, tiles[0]);
  }
  int now = 0;
  for (int tile_idx = item.first_tile; tile_idx < item.last_tile;
       tile_idx += item.tile_step) {
    const int next_idx = tile_idx + item.tile_step;
    int next = now;
    if (next_idx < item.last_tile) {
      next = 1 - now;
      FindTile(p, item, next_idx, tiles[next]);
    }
    for (int head = 0; head < scratch.num_heads(); ++head) {
      AttendTile(p, tiles[now], tiles[next], first_head + head, head, scratch);
    }
    now = next;
  }
  FoldLanes(scratch);
}

template <typename Element>
void LoadRow(const void* from, int dim, float* to) {
  const auto* elements = static_cast<const Element*>(from);
  int d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    StoreFloats(LoadFloats(elements + d), to + d);
  }
  for (; d < dim; ++d) to[d] = ToFloat(elements[d]);
}

template <typename Element>
void StoreRow(const float* from, float factor, int dim, void* to) {
  auto* elements = static_cast<Element*>(to);
  const Floats scale = hn::Set(FloatTag(), factor);
  int d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    StoreFloats(hn::Mul(LoadFloats(from + d), scale), elements + d);
  }
  for (; d < dim; ++d) elements[d] = FromFloat<Element>(from[d] * factor);
}

inline void Exp2Row(const float* scores, int count, float* weights) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    StoreFloats(Exp2(LoadFloats(scores + i)), weights + i);
  }
  if (i == count) return;
  HWY_ALIGN float lanes[kLanes];
  StoreFloats(Exp2(LoadSome(scores + i, count - i)), lanes);
  std::copy(lanes, lanes + (count - i), weights + i);
}

template <typename Element>
const SimdElementKernels* ElementKernels() {
  static constexpr SimdElementKernels kKernels = {
      &LoadRow<Element>, &StoreRow<Element>, &Attend<Element>, &Exp2Row};
  return &kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
