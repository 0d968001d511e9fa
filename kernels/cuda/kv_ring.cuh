// A warp's private ring of KV tiles in shared memory.
//
// A stage holds one tile: 16 tokens of K, then of V, one kv head. The warp
// takes every kWarps-th tile of its range and keeps kStages of them in flight
// or in use; no other warp reads its ring, so no barrier is ever needed.
//
// Block ids are looked up 32 tiles ahead, one per lane, which takes the block
// table out of the chain of dependent loads.
#ifndef PAGED_KERNELS_CUDA_KV_RING_CUH_
#define PAGED_KERNELS_CUDA_KV_RING_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cuda/decode_instance.cuh"

namespace paged {

template <IsDecodeInstance V>
class KvRing {
 public:
  // A tile that has arrived: its number in the sequence, and the shared
  // addresses of its keys and values, rows as SwizzledOffset.
  struct Tile {
    int index;
    uint32_t keys;
    uint32_t values;
  };

  __device__ KvRing(const DecodeParams& p, const WorkItem& item, int kv_head,
                    void* shared)
      : p_(p),
        table_(p.block_tables + item.table_row * p.block_table_stride),
        context_len_(item.context_len),
        first_tile_(item.first_tile +
                    static_cast<int>(threadIdx.x) / 32 * item.tile_step),
        last_tile_(item.last_tile),
        tile_step_(V::kWarps * item.tile_step),
        tiles_per_block_(
            p.block_size % kTileTokens == 0 ? p.block_size / kTileTokens : 0),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(SharedAddress(shared) +
              threadIdx.x / 32 * (V::kStages * V::kStageBytes)) {
    const int chunk = lane_ % V::kChunksPerRow;
    keys_ = static_cast<const uint16_t*>(p.key.data) +
            kv_head * p.key.head_stride + chunk * 8;
    values_ = static_cast<const uint16_t*>(p.value.data) +
              kv_head * p.value.head_stride + chunk * 8;
    block_ids_ = LookUp(lane_);
    next_block_ids_ = LookUp(32 + lane_);
  }

  // Whether the warp has a tile to wait for.
  __device__ __forceinline__ bool HasTile() const {
    return TileAt(issued_ - (V::kStages - 1)) < last_tile_;
  }

  // Starts the loads of all stages but one. Call once, before anything else.
  __device__ __forceinline__ void Fill() {
#pragma unroll 1
    for (int stage = 0; stage < V::kStages - 1; ++stage) IssueNext();
  }

  // Starts the load of the next tile, if there is one.
  __device__ __forceinline__ void IssueNext() {
    const int tile = TileAt(issued_);
    if (tile < last_tile_) {
      const uint32_t stage = ring_ + stage_ * V::kStageBytes;
      const int block = __shfl_sync(kAllLanes, block_ids_, issued_ % 32);
      if (tiles_per_block_ != 0 &&
          tile * kTileTokens <= context_len_ - kTileTokens) {
        IssueWhole(stage, tile, block);
      } else {
        IssueRows(stage, tile);
      }
    }
    CommitCopies();  // an empty group keeps the count of groups in step
    ++issued_;
    stage_ = stage_ + 1 == V::kStages ? 0 : stage_ + 1;
    if (issued_ % 32 == 0) {
      block_ids_ = next_block_ids_;
      next_block_ids_ = LookUp(issued_ + 32 + lane_);
    }
  }

  // Waits for the oldest tile.
  __device__ __forceinline__ Tile Wait() {
    WaitForCopies<V::kStages - 1>();
    __syncwarp();
    // The stage that comes next in the ring is the one filled first.
    const uint32_t stage = ring_ + stage_ * V::kStageBytes;
    return {TileAt(issued_ - V::kStages), stage, stage + V::kTileBytes};
  }

  // Gives the tile of the last Wait back.
  __device__ __forceinline__ void Release() { __syncwarp(); }

  // Waits for loads that nobody will use; shared memory is free afterwards.
  __device__ __forceinline__ void Drain() { WaitForCopies<0>(); }

 private:
  static constexpr int kRowsPerCopy = 32 / V::kChunksPerRow;

  // The warp's `count`-th tile.
  __device__ __forceinline__ int TileAt(int count) const {
    return first_tile_ + count * tile_step_;
  }

  // Its block, where a block holds whole tiles. The capacity bounds it, not
  // the context, so that the first look-up need not wait for the length; what
  // lies past the context is loaded and never used.
  __device__ __forceinline__ int LookUp(int count) const {
    const int tile = TileAt(count);
    if (tiles_per_block_ == 0 || tile >= NumTiles(p_.max_context_len)) return 0;
    return __ldg(table_ + BlockOf(tile));
  }

  __device__ __forceinline__ int BlockOf(int tile) const {
    return tiles_per_block_ == 1 ? tile : tile / tiles_per_block_;
  }

  // A tile of 16 live tokens in one block.
  __device__ __forceinline__ void IssueWhole(uint32_t stage, int tile,
                                             int block) {
    const int first_slot =
        (tile - BlockOf(tile) * tiles_per_block_) * kTileTokens;
    const int row = lane_ / V::kChunksPerRow;
    const uint32_t first_place =
        stage + SwizzledOffset<V>(row, lane_ % V::kChunksPerRow);
    const uint16_t* key = keys_ + OffsetOf(p_.key, block, first_slot + row, 0);
    const uint16_t* value =
        values_ + OffsetOf(p_.value, block, first_slot + row, 0);
#pragma unroll
    for (int r = 0; r < kTileTokens; r += kRowsPerCopy) {
      const uint32_t place = (first_place ^ (r % 8 * 16)) + r * V::kRowBytes;
      CopyAsync16(place, key);
      CopyAsync16(place + V::kTileBytes, value);
      key += kRowsPerCopy * p_.key.slot_stride;
      value += kRowsPerCopy * p_.value.slot_stride;
    }
  }

  // Any tile. Rows past the context become zeros: nothing is read for them,
  // neither from the table nor from the pool.
  __device__ __forceinline__ void IssueRows(uint32_t stage, int tile) {
    // Lane l and lane l + 16 find token l of the tile.
    const int token = tile * kTileTokens + lane_ % kTileTokens;
    const SlotPlace place = PlaceOf(token, p_.block_size);
    const int block =
        token < context_len_ ? __ldg(table_ + place.logical_block) : 0;
#pragma unroll 1
    for (int r = 0; r < kTileTokens; r += kRowsPerCopy) {
      const int row = r + lane_ / V::kChunksPerRow;
      const int row_block = __shfl_sync(kAllLanes, block, row);
      const int row_slot = __shfl_sync(kAllLanes, place.slot, row);
      const bool is_live = tile * kTileTokens + row < context_len_;
      const int64_t key =
          is_live ? OffsetOf(p_.key, row_block, row_slot, 0) : 0;
      const int64_t value =
          is_live ? OffsetOf(p_.value, row_block, row_slot, 0) : 0;
      const uint32_t target =
          stage + SwizzledOffset<V>(row, lane_ % V::kChunksPerRow);
      CopyAsync16OrZero(target, keys_ + key, is_live ? 16 : 0);
      CopyAsync16OrZero(target + V::kTileBytes, values_ + value,
                        is_live ? 16 : 0);
    }
  }

  const DecodeParams& p_;
  const int32_t* table_;
  int context_len_;
  int first_tile_;  // of this warp
  int last_tile_;
  int tile_step_;
  int tiles_per_block_;  // 0 when tiles straddle blocks
  int lane_;
  uint32_t ring_;
  const uint16_t* keys_;  // of this kv head, at this lane's chunk
  const uint16_t* values_;
  int block_ids_;  // of tile 32 n + lane of this warp
  int next_block_ids_;
  int issued_ = 0;  // tiles, those past the range included
  int stage_ = 0;   // that the next tile goes to
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_KV_RING_CUH_
