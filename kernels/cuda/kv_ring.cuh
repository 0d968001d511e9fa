// A warp's private ring of KV tiles in shared memory.
//
// A stage holds kTilesPerStage tiles, each 16 tokens of K, then of V, one kv
// head. The warp takes every kWarps-th tile of its range and keeps kStages
// stages in flight or in use; no other warp reads its ring, so no barrier is
// ever needed.
//
// Block ids are looked up ahead, 32 tiles or, where each token has its own,
// two: one per lane, which takes the block table out of the chain of dependent
// loads.
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
  // addresses of its keys, its values and, where there are any, the scales
  // [2, kTileTokens] and the biases [kTileTokens] of its tokens.
  struct Tile {
    int index;
    uint32_t keys;
    uint32_t values;
    uint32_t scales;
    uint32_t biases;
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
        tiles_ahead_(tiles_per_block_ == 0 ? 32 / kTileTokens : 32),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(SharedAddress(shared) +
              threadIdx.x / 32 * (V::kStages * V::kStageBytes)) {
    if constexpr (V::kIsGeneral) ZeroPadding();
    block_ids_ = LookUp(0);
    next_block_ids_ = LookUp(tiles_ahead_);
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
      const int block = BlockAhead(issued_ + t);
      const int tile = InSequence(TileAt(issued_ + t));
      if (!copies_.has_chunks()) {
        copies_.IssuePieces(place, tile, block);
      } else if (tiles_per_block_ != 0) {
        const int first_slot =
            (tile - BlockOf(tile) * tiles_per_block_) * kTileTokens;
        copies_.IssueInBlock(place, tile, block, first_slot);
      } else {
        copies_.IssueScattered(place, tile, block);
      }
      if constexpr (V::kIsGeneral) {
        copies_.IssueBiases(BiasesAt(stage_, t), tile);
      }
    }
    CommitCopies();  // an empty group keeps the count of groups in step
    issued_ += kTiles;
    stage_ = stage_ + 1 == V::kStages ? 0 : stage_ + 1;
    if (issued_ % tiles_ahead_ == 0) {
      block_ids_ = next_block_ids_;
      next_block_ids_ = LookUp(issued_ + tiles_ahead_);
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
            place + V::Keys::kTileBytes, place + TileCopies<V>::kScaleOffset,
            BiasesAt(stage_, t)};
  }

  // Gives the stage of the last Wait back.
  __device__ __forceinline__ void Release() { __syncwarp(); }

  // Waits for loads that nobody will use; shared memory is free afterwards.
  __device__ __forceinline__ void Drain() { WaitForCopies<0>(); }

 private:
  static constexpr int kTiles = V::kTilesPerStage;

  // Behind the rings of all warps.
  __device__ __forceinline__ uint32_t BiasesAt(int stage, int t) const {
    constexpr int kRing = V::kStages * V::kStageBytes;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return ring_ + (V::kWarps - warp) * kRing +
           ((warp * V::kStages + stage) * kTiles + t) * V::kBiasBytes;
  }

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

  // The blocks of the warp's next tiles from the `first`-th on: a lane has that
  // of a tile, or of one token of a tile where each has its own. The capacity
  // bounds them, not the context, so that the first look-up need not wait for
  // the length; what lies past the context is loaded and never used.
  __device__ __forceinline__ int LookUp(int first) const {
    const bool by_tile = tiles_per_block_ != 0;
    const int tile =
        InSequence(TileAt(first + (by_tile ? lane_ : lane_ / kTileTokens)));
    if (tile >= NumTiles(p_.max_context_len)) return 0;
    if (by_tile) return __ldg(table_ + BlockOf(tile));
    const int token = tile * kTileTokens + lane_ % kTileTokens;
    return token < p_.max_context_len
               ? __ldg(table_ + PlaceOf(token, p_.block_size).logical_block)
               : 0;
  }

  // Of what was looked up: the block of the warp's `count`-th tile or, where
  // each token has its own, in lanes l and l + 16 that of the tile's token l.
  __device__ __forceinline__ int BlockAhead(int count) const {
    const int place = tiles_per_block_ != 0
                          ? count % 32
                          : count % 2 * kTileTokens + lane_ % kTileTokens;
    return __shfl_sync(kAllLanes, block_ids_, place);
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
  int tiles_ahead_;      // whose blocks the lanes hold
  int lane_;
  uint32_t ring_;
  int block_ids_;  // LookUp's, and those after them
  int next_block_ids_;
  int issued_ = 0;  // tiles, those past the range included
  int stage_ = 0;   // that the next tile goes to
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_KV_RING_CUH_
