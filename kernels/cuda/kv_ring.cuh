// A warp's private ring of KV tiles in shared memory.
//
// A stage holds kTilesPerStage tiles, each 16 tokens of K, then of V, one kv
// head. The warp takes every kWarps-th tile of its range and keeps kStages
// stages in flight or in use; no other warp reads its ring, so no barrier is
// ever needed.
//
// Block ids are looked up 32 tiles ahead, one per lane, which takes the block
// table out of the chain of dependent loads.
#ifndef PAGED_KERNELS_CUDA_KV_RING_CUH_
#define PAGED_KERNELS_CUDA_KV_RING_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cuda/decode_instance.cuh"
#include "kernels/cuda/tile_copies.cuh"

namespace paged {

template <IsDecodeInstance V>
class KvRing {
 public:
  // A tile that has arrived: its number in the sequence, and the shared
  // addresses of its keys, its values and, where each token has its own, the
  // scales [2, kTileTokens] of both.
  struct Tile {
    int index;
    uint32_t keys;
    uint32_t values;
    uint32_t scales;
  };

  __device__ KvRing(const DecodeParams& p, const WorkItem& item, int kv_head,
                    void* shared)
      : p_(p),
        item_(item),
        copies_(p, item, kv_head),
        table_(p.block_tables + item.table_row * p.block_table_stride),
        first_tile_(item.first_tile +
                    static_cast<int>(threadIdx.x) / 32 * item.tile_step),
        tile_step_(V::kWarps * item.tile_step),
        tiles_per_block_(
            p.block_size % kTileTokens == 0 ? p.block_size / kTileTokens : 0),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(SharedAddress(shared) +
              threadIdx.x / 32 * (V::kStages * V::kStageBytes)),
        has_whole_tiles_(tiles_per_block_ != 0 && copies_.has_vectors()) {
    if constexpr (V::kIsGeneral) ZeroPadding();
    block_ids_ = LookUp(lane_);
    next_block_ids_ = LookUp(32 + lane_);
  }

  // Whether the warp has a stage to wait for.
  __device__ __forceinline__ bool HasTile() const {
    return IsInRange(issued_ - (V::kStages - 1) * kTiles);
  }

  // Starts the loads of all stages but one. Call once, before anything else.
  __device__ __forceinline__ void Fill() {
#pragma unroll 1
    for (int stage = 0; stage < V::kStages - 1; ++stage) IssueNext();
  }

  // Starts the load of the next stage's tiles, as far as there are any.
  __device__ __forceinline__ void IssueNext() {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (!IsInRange(issued_ + t)) break;
      const uint32_t place =
          ring_ + stage_ * V::kStageBytes + t * V::kTileBytes;
      const int block = __shfl_sync(kAllLanes, block_ids_, issued_ % 32 + t);
      const int tile = InSequence(TileAt(issued_ + t));
      if (has_whole_tiles_ && IsAllVisible(tile)) {
        const int first_slot =
            (tile - BlockOf(tile) * tiles_per_block_) * kTileTokens;
        copies_.IssueWhole(place, block, first_slot);
      } else {
        copies_.IssueVisible(place, tile, tiles_per_block_ == 0 ? -1 : block);
      }
    }
    CommitCopies();  // an empty group keeps the count of groups in step
    issued_ += kTiles;
    stage_ = stage_ + 1 == V::kStages ? 0 : stage_ + 1;
    if (issued_ % 32 == 0) {
      block_ids_ = next_block_ids_;
      next_block_ids_ = LookUp(issued_ + 32 + lane_);
    }
  }

  // Waits for the oldest stage.
  __device__ __forceinline__ void Wait() {
    WaitForCopies<V::kStages - 1>();
    __syncwarp();
  }

  // The t-th tile of the stage of the last Wait: the first is always there.
  __device__ __forceinline__ bool Has(int t) const {
    return t == 0 || IsInRange(issued_ - V::kStages * kTiles + t);
  }
  __device__ __forceinline__ Tile At(int t) const {
    // The stage that comes next in the ring is the one filled first.
    const uint32_t place = ring_ + stage_ * V::kStageBytes + t * V::kTileBytes;
    return {InSequence(TileAt(issued_ - V::kStages * kTiles + t)), place,
            place + V::Keys::kTileBytes, place + TileCopies<V>::kScaleOffset};
  }

  // Gives the stage of the last Wait back.
  __device__ __forceinline__ void Release() { __syncwarp(); }

  // Waits for loads that nobody will use; shared memory is free afterwards.
  __device__ __forceinline__ void Drain() { WaitForCopies<0>(); }

 private:
  static constexpr int kTiles = V::kTilesPerStage;

  // What the products read of a row past its end is 0 in the query, and must
  // not be NaN here.
  __device__ __forceinline__ void ZeroPadding() {
    constexpr int kStep = 64;
    if (p_.key_dim % kStep == 0) return;
    for (int i = lane_ * 16; i < V::kStages * V::kStageBytes; i += 32 * 16) {
      StoreZeros16(ring_ + i);
    }
    __syncwarp();
  }

  // The warp's `count`-th tile, and whether there is one.
  __device__ __forceinline__ int TileAt(int count) const {
    return first_tile_ + count * tile_step_;
  }
  __device__ __forceinline__ bool IsInRange(int count) const {
    return TileAt(count) < item_.last_tile;
  }

  __device__ __forceinline__ int InSequence(int tile) const {
    if constexpr (V::kIsGeneral) return SequenceTile(item_, tile);
    return tile;
  }

  __device__ __forceinline__ bool IsAllVisible(int tile) const {
    const int begin = tile * kTileTokens;
    if constexpr (V::kIsGeneral) {
      const VisibleTokens& visible = item_.visible;
      return (begin >= visible.begin && begin <= visible.end - kTileTokens) ||
             begin <= visible.sink_end - kTileTokens;
    }
    return begin <= item_.context_len - kTileTokens;
  }

  // Its block, where a block holds whole tiles. The capacity bounds it, not
  // the context, so that the first look-up need not wait for the length; what
  // lies past the context is loaded and never used.
  __device__ __forceinline__ int LookUp(int count) const {
    const int tile = InSequence(TileAt(count));
    if (tiles_per_block_ == 0 || tile >= NumTiles(p_.max_context_len)) return 0;
    return __ldg(table_ + BlockOf(tile));
  }

  __device__ __forceinline__ int BlockOf(int tile) const {
    return tiles_per_block_ == 1 ? tile : tile / tiles_per_block_;
  }

  const DecodeParams& p_;
  const WorkItem& item_;
  TileCopies<V> copies_;
  const int32_t* table_;
  int first_tile_;  // of this warp
  int tile_step_;
  int tiles_per_block_;  // 0 when tiles straddle blocks
  int lane_;
  uint32_t ring_;
  bool has_whole_tiles_;  // in one block, with rows of whole pieces
  int block_ids_;         // of tile 32 n + lane of this warp
  int next_block_ids_;
  int issued_ = 0;  // tiles, those past the range included
  int stage_ = 0;   // that the next tile goes to
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_KV_RING_CUH_
