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

namespace paged {

template <IsDecodeInstance V>
class KvRing {
  using Keys = typename V::Keys;
  using Values = typename V::Values;
  using Storage = typename V::Storage;

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
        kv_head_(kv_head),
        table_(p.block_tables + item.table_row * p.block_table_stride),
        first_tile_(item.first_tile +
                    static_cast<int>(threadIdx.x) / 32 * item.tile_step),
        tile_step_(V::kWarps * item.tile_step),
        tiles_per_block_(
            p.block_size % kTileTokens == 0 ? p.block_size / kTileTokens : 0),
        lane_(static_cast<int>(threadIdx.x) % 32),
        ring_(SharedAddress(shared) +
              threadIdx.x / 32 * (V::kStages * V::kStageBytes)),
        has_whole_tiles_(tiles_per_block_ != 0 && HasVectors(p)) {
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
        IssueWhole(place, tile, block);
      } else {
        IssueVisible(place, tile, block);
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
            place + Keys::kTileBytes, place + kScaleOffset};
  }

  // Gives the stage of the last Wait back.
  __device__ __forceinline__ void Release() { __syncwarp(); }

  // Waits for loads that nobody will use; shared memory is free afterwards.
  __device__ __forceinline__ void Drain() { WaitForCopies<0>(); }

 private:
  static constexpr int kTiles = V::kTilesPerStage;
  static constexpr int kScaleOffset = Keys::kTileBytes + Values::kTileBytes;

  // Rows of bytes need not begin at a multiple of 16 of them, nor end there.
  static __device__ __forceinline__ bool HasVectors(const DecodeParams& p) {
    if constexpr (V::kIsGeneral && V::kHasByteElements) {
      const int64_t all = p.key.block_stride | p.key.slot_stride |
                          p.key.head_stride | p.value.block_stride |
                          p.value.slot_stride | p.value.head_stride |
                          p.key_dim | p.value_dim;
      return all % 16 == 0;
    } else {
      return true;
    }
  }

  __device__ __forceinline__ const Storage* HeadOf(const KvView& view) const {
    return static_cast<const Storage*>(view.data) + kv_head_ * view.head_stride;
  }

  // What the products read of a row past its end is 0 in the query, and must
  // not be NaN here.
  __device__ __forceinline__ void ZeroPadding() {
    constexpr int kStep = V::kHasByteElements ? 64 : 16;
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

  // Whether some row sees the token at `position`: nothing is read of others.
  __device__ __forceinline__ bool IsVisible(int position) const {
    if constexpr (V::kIsGeneral) return Sees(item_.visible, position);
    return position < item_.context_len;
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

  // A tile of 16 visible tokens in one block.
  __device__ __forceinline__ void IssueWhole(uint32_t place, int tile,
                                             int block) {
    const int first_slot =
        (tile - BlockOf(tile) * tiles_per_block_) * kTileTokens;
    IssueRows<Keys>(place, HeadOf(p_.key), p_.key, block, first_slot,
                    p_.key_dim);
    IssueRows<Values>(place + Keys::kTileBytes, HeadOf(p_.value), p_.value,
                      block, first_slot, p_.value_dim);
    IssueScales(place, block, first_slot + lane_ % kTileTokens, true);
  }

  template <typename Layout>
  __device__ __forceinline__ void IssueRows(uint32_t target,
                                            const Storage* head,
                                            const KvView& view, int block,
                                            int first_slot, int dim) {
    const int row = lane_ / Layout::kLanesPerRow;
    const int chunk = lane_ % Layout::kLanesPerRow;
    const int num_chunks =
        V::kIsGeneral ? dim / Layout::kChunkElements : Layout::kChunks;
    const uint32_t first = target + Layout::Offset(row, chunk);
    const Storage* source = head + OffsetOf(view, block, first_slot + row, 0) +
                            chunk * Layout::kChunkElements;
#pragma unroll
    for (int r = 0; r < kTileTokens; r += Layout::kRowsPerCopy) {
#pragma unroll
      for (int c = 0; c < Layout::kChunks; c += Layout::kLanesPerRow) {
        if (chunk + c < num_chunks) {
          CopyAsync16(Layout::Move(first, r, c),
                      source + c * Layout::kChunkElements);
        }
      }
      source += Layout::kRowsPerCopy * view.slot_stride;
    }
  }

  // Any tile. Rows that nobody sees become zeros: nothing is read for them,
  // neither from the table nor from the pool. `tile_block` is the tile's, where
  // a block holds whole tiles.
  __device__ __forceinline__ void IssueVisible(uint32_t target, int tile,
                                               int tile_block) {
    // Lane l and lane l + 16 find token l of the tile.
    const int token = tile * kTileTokens + lane_ % kTileTokens;
    const bool is_visible = IsVisible(token);
    const SlotPlace place = PlaceOf(token, p_.block_size);
    int block = tile_block;
    if (tiles_per_block_ == 0) {
      block = is_visible ? __ldg(table_ + place.logical_block) : 0;
    }
    IssueVisibleRows<Keys>(target, HeadOf(p_.key), p_.key, block, place.slot,
                           tile, V::kIsGeneral ? p_.key_dim : V::kKeyDim);
    IssueVisibleRows<Values>(target + Keys::kTileBytes, HeadOf(p_.value),
                             p_.value, block, place.slot, tile,
                             V::kIsGeneral ? p_.value_dim : V::kValueDim);
    IssueScales(target, block, place.slot, is_visible);
  }

  template <typename Layout>
  __device__ __forceinline__ void IssueVisibleRows(uint32_t target,
                                                   const Storage* head,
                                                   const KvView& view,
                                                   int block, int slot,
                                                   int tile, int dim) {
    const int chunk = lane_ % Layout::kLanesPerRow;
#pragma unroll 1
    for (int r = 0; r < kTileTokens; r += Layout::kRowsPerCopy) {
      const int row = r + lane_ / Layout::kLanesPerRow;
      const int row_block = __shfl_sync(kAllLanes, block, row);
      const int row_slot = __shfl_sync(kAllLanes, slot, row);
      const bool is_visible = IsVisible(tile * kTileTokens + row);
      const Storage* source =
          head + (is_visible ? OffsetOf(view, row_block, row_slot, 0) : 0);
#pragma unroll 1
      for (int c = chunk; c * Layout::kChunkElements < dim;
           c += Layout::kLanesPerRow) {
        IssueChunk(target + Layout::Offset(row, c),
                   source + c * Layout::kChunkElements,
                   is_visible ? dim - c * Layout::kChunkElements : 0);
      }
    }
  }

  // A chunk of which `elements` are there; none of them, or at least half.
  __device__ __forceinline__ void IssueChunk(uint32_t target,
                                             const Storage* source,
                                             int elements) {
    if constexpr (V::kIsGeneral && V::kHasByteElements) {
      if (!has_whole_tiles_) {
        CopyAsync8OrZero(target, source, elements >= 8 ? 8 : 0);
        CopyAsync8OrZero(target + 8, source + 8, elements >= 16 ? 8 : 0);
        return;
      }
    }
    CopyAsync16OrZero(target, source, elements > 0 ? 16 : 0);
  }

  // A lane's scale: the key's of token `lane` of the tile, or the value's of
  // token `lane - 16`.
  __device__ __forceinline__ void IssueScales(uint32_t tile, int block,
                                              int slot, bool is_visible) {
    if constexpr (V::kIsGeneral && V::kHasByteElements) {
      const KvScales& scales =
          lane_ < kTileTokens ? p_.key_scales : p_.value_scales;
      if (!AreByToken(scales)) return;
      const int64_t offset = block * scales.block_stride +
                             slot * scales.slot_stride +
                             kv_head_ * scales.head_stride;
      CopyAsync4OrZero(tile + kScaleOffset + lane_ * 4,
                       scales.data + (is_visible ? offset : 0),
                       is_visible ? 4 : 0);
    }
  }

  const DecodeParams& p_;
  const WorkItem& item_;
  int kv_head_;
  const int32_t* table_;
  int first_tile_;  // of this warp
  int tile_step_;
  int tiles_per_block_;  // 0 when tiles straddle blocks
  int lane_;
  uint32_t ring_;
  bool has_whole_tiles_;  // in one block, with rows of 16-byte chunks
  int block_ids_;         // of tile 32 n + lane of this warp
  int next_block_ids_;
  int issued_ = 0;  // tiles, those past the range included
  int stage_ = 0;   // that the next tile goes to
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_KV_RING_CUH_
