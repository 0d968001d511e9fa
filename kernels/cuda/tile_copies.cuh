// The copies of one tile: from the pool, through the block table, to a stage of
// a warp's ring.
#ifndef PAGED_KERNELS_CUDA_TILE_COPIES_CUH_
#define PAGED_KERNELS_CUDA_TILE_COPIES_CUH_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cuda/decode_instance.cuh"

namespace paged {

template <IsDecodeInstance V>
class TileCopies {
  using Keys = typename V::Keys;
  using Values = typename V::Values;
  using Storage = typename V::Storage;

 public:
  // Where a tile has its scales [2, kTileTokens], behind its keys and values.
  static constexpr int kScaleOffset = Keys::kTileBytes + Values::kTileBytes;

  __device__ __forceinline__ TileCopies(const DecodeParams& p,
                                        const WorkItem& item, int kv_head)
      : p_(p),
        item_(item),
        kv_head_(kv_head),
        lane_(static_cast<int>(threadIdx.x) % 32),
        has_vectors_(HasVectors(p)) {}

  // Whether rows are whole pieces of 16 bytes, as IssueWhole wants them.
  __device__ __forceinline__ bool has_vectors() const { return has_vectors_; }

  // A tile of 16 visible tokens in one block.
  __device__ __forceinline__ void IssueWhole(uint32_t place, int block,
                                             int first_slot) const {
    IssueRows<Keys>(place, HeadOf(p_.key), p_.key, block, first_slot,
                    p_.key_dim);
    IssueRows<Values>(place + Keys::kTileBytes, HeadOf(p_.value), p_.value,
                      block, first_slot, p_.value_dim);
    IssueScales(place, block, first_slot + lane_ % kTileTokens, true);
  }

  // A tile of 16 visible tokens in several blocks: lanes l and l + 16 have that
  // of token l of the tile.
  __device__ __forceinline__ void IssueScattered(uint32_t place, int tile,
                                                 int block) const {
    const int slot =
        PlaceOf(tile * kTileTokens + lane_ % kTileTokens, p_.block_size).slot;
    // Of the token's key, or of its value.
    const int64_t offset =
        OffsetOf(lane_ < kTileTokens ? p_.key : p_.value, block, slot, 0);
    IssueRowsAt<Keys>(place, HeadOf(p_.key), offset, 0, p_.key_dim);
    IssueRowsAt<Values>(place + Keys::kTileBytes, HeadOf(p_.value), offset,
                        kTileTokens, p_.value_dim);
    IssueScales(place, block, slot, true);
  }

  // Any tile, with the block of the tile, or in lanes l and l + 16 that of its
  // token l. Rows that nobody sees become zeros: nothing is read for them.
  __device__ __forceinline__ void IssueVisible(uint32_t target, int tile,
                                               int block) const {
    // Lane l and lane l + 16 find token l of the tile.
    const int token = tile * kTileTokens + lane_ % kTileTokens;
    const bool is_visible = IsVisible(token);
    const SlotPlace place = PlaceOf(token, p_.block_size);
    IssueVisibleRows<Keys>(target, HeadOf(p_.key), p_.key, block, place.slot,
                           tile, V::kIsGeneral ? p_.key_dim : V::kKeyDim);
    IssueVisibleRows<Values>(target + Keys::kTileBytes, HeadOf(p_.value),
                             p_.value, block, place.slot, tile,
                             V::kIsGeneral ? p_.value_dim : V::kValueDim);
    IssueScales(target, block, place.slot, is_visible);
  }

 private:
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

  // Whether some row sees the token at `position`: nothing is read of others.
  __device__ __forceinline__ bool IsVisible(int position) const {
    if constexpr (V::kIsGeneral) return Sees(item_.visible, position);
    return position < item_.context_len;
  }

  // Rows that lie side by side, from `first_slot` of the block on.
  template <typename Layout>
  __device__ __forceinline__ void IssueRows(uint32_t target,
                                            const Storage* head,
                                            const KvView& view, int block,
                                            int first_slot, int dim) const {
    const Storage* next =
        head +
        OffsetOf(view, block, first_slot + lane_ / Layout::kLanesPerRow, 0);
    IssueAllRows<Layout>(target, dim, [&](int) {
      const Storage* row = next;
      next += Layout::kRowsPerCopy * view.slot_stride;
      return row;
    });
  }

  // Rows whose offsets the lanes from `first_lane` on have.
  template <typename Layout>
  __device__ __forceinline__ void IssueRowsAt(uint32_t target,
                                              const Storage* head,
                                              int64_t offset, int first_lane,
                                              int dim) const {
    IssueAllRows<Layout>(target, dim, [&](int row) {
      return head +
             __shfl_sync(kAllLanes, offset, first_lane + row % kTileTokens);
    });
  }

  // All lanes ask `source` for the rows of each copy, from the first on, and
  // copy their chunks of them.
  template <typename Layout, typename Source>
  __device__ __forceinline__ void IssueAllRows(uint32_t target, int dim,
                                               Source source) const {
    constexpr bool kDividesTile = kTileTokens % Layout::kRowsPerCopy == 0;
    const int row = lane_ / Layout::kLanesPerRow;
    const int chunk = lane_ % Layout::kLanesPerRow;
    const int num_chunks =
        V::kIsGeneral ? dim / Layout::kChunkElements : Layout::kChunks;
    const uint32_t first = target + Layout::Offset(row, chunk);
#pragma unroll
    for (int r = 0; r < kTileTokens; r += Layout::kRowsPerCopy) {
      const Storage* line = source(r + row) + chunk * Layout::kChunkElements;
#pragma unroll
      for (int c = 0; c < Layout::kChunks; c += Layout::kLanesPerRow) {
        if (row < Layout::kRowsPerCopy && chunk + c < num_chunks &&
            (kDividesTile || r + row < kTileTokens)) {
          CopyAsync16(kDividesTile
                          ? Layout::Move(first, r, c)
                          : target + Layout::Offset(r + row, chunk + c),
                      line + c * Layout::kChunkElements);
        }
      }
    }
  }

  template <typename Layout>
  __device__ __forceinline__ void IssueVisibleRows(uint32_t target,
                                                   const Storage* head,
                                                   const KvView& view,
                                                   int block, int slot,
                                                   int tile, int dim) const {
    const int chunk = lane_ % Layout::kLanesPerRow;
#pragma unroll 1
    for (int r = 0; r < kTileTokens; r += Layout::kRowsPerCopy) {
      const int row = r + lane_ / Layout::kLanesPerRow;
      const int row_block = __shfl_sync(kAllLanes, block, row);
      const int row_slot = __shfl_sync(kAllLanes, slot, row);
      if (row - r >= Layout::kRowsPerCopy || row >= kTileTokens) continue;
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
                                             int elements) const {
    if constexpr (V::kIsGeneral && V::kHasByteElements) {
      if (!has_vectors_) {
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
                                              int slot, bool is_visible) const {
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
  int lane_;
  bool has_vectors_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_TILE_COPIES_CUH_
