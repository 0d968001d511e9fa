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

// Rows of a tile that are copied, in pieces of 16 bytes; zeros take the place
// of the others. All of them:
struct AllRows {
  __device__ __forceinline__ AllRows From(int) const { return {}; }
  __device__ __forceinline__ int Bytes(int) const { return 16; }
};
// Those whose bits are set:
struct SomeRows {
  uint32_t bits;

  __device__ __forceinline__ SomeRows From(int row) const {
    return {bits >> row};
  }
  __device__ __forceinline__ int Bytes(int row) const {
    return (bits >> row & 1) != 0 ? 16 : 0;
  }
};

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
        has_chunks_(HasChunks(p)) {}

  // Whether rows are whole chunks of 16 bytes; IssuePieces takes others.
  __device__ __forceinline__ bool has_chunks() const { return has_chunks_; }

  // A tile of tokens that lie side by side, from `first_slot` of a block on.
  __device__ __forceinline__ void IssueInBlock(uint32_t place, int tile,
                                               int block,
                                               int first_slot) const {
    const uint32_t visible = VisibleRows(tile);
    // Whole tiles need no choice of zeros, and most are: 8 sequences of 1024
    // tokens, unsplit, take 8.6 us without and 9.2 with it (H200). Instances
    // with rules gain less than a second loop costs them.
    if (!V::kIsGeneral && visible == kAllLanes) {
      IssueNeighbours(place, block, first_slot, AllRows());
    } else {
      IssueNeighbours(place, block, first_slot, SomeRows{visible});
    }
    IssueScales(place, block, first_slot + lane_ % kTileTokens, visible);
  }

  // A tile in several blocks: lanes l and l + 16 have that of token l of the
  // tile.
  __device__ __forceinline__ void IssueScattered(uint32_t place, int tile,
                                                 int block) const {
    const uint32_t visible = VisibleRows(tile);
    const int slot =
        PlaceOf(tile * kTileTokens + lane_ % kTileTokens, p_.block_size).slot;
    // Of the token's key, or of its value.
    const int64_t offset =
        OffsetOf(lane_ < kTileTokens ? p_.key : p_.value, block, slot, 0);
    const SomeRows rows = {visible};
    IssueRowsAt<Keys>(place, HeadOf(p_.key), offset, 0, rows, p_.key_dim);
    IssueRowsAt<Values>(place + Keys::kTileBytes, HeadOf(p_.value), offset,
                        kTileTokens, rows, p_.value_dim);
    IssueScales(place, block, slot, visible);
  }

  // Either, in pieces of 8 bytes, with the block of the tile or, in lanes l and
  // l + 16, that of its token l.
  __device__ __forceinline__ void IssuePieces(uint32_t place, int tile,
                                              int block) const {
    const uint32_t visible = VisibleRows(tile);
    const int slot =
        PlaceOf(tile * kTileTokens + lane_ % kTileTokens, p_.block_size).slot;
    IssueRowPieces<Keys>(place, HeadOf(p_.key), p_.key, block, slot, visible,
                         p_.key_dim);
    IssueRowPieces<Values>(place + Keys::kTileBytes, HeadOf(p_.value), p_.value,
                           block, slot, visible, p_.value_dim);
    IssueScales(place, block, slot, visible);
  }

  // The biases of a tile's tokens, to `target` [kTileTokens], if there are any.
  // On their way with the tile, since scores that wait for memory cost a tile
  // its time again. What nobody sees may be past the end of the biases.
  __device__ __forceinline__ void IssueBiases(uint32_t target, int tile) const {
    if (p_.rules.bias == nullptr) return;
    const uint32_t visible = VisibleRows(tile);
    if (lane_ >= kTileTokens) return;
    CopyAsync4OrZero(target + lane_ * 4,
                     p_.rules.bias + item_.table_row * p_.rules.bias_stride +
                         tile * kTileTokens + lane_,
                     (visible >> lane_ & 1) != 0 ? 4 : 0);
  }

 private:
  // Rows of bytes need not begin at a multiple of 16 of them, nor end there.
  static __device__ __forceinline__ bool HasChunks(const DecodeParams& p) {
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

  // Bits l and l + 16: whether some row of the item sees token l of the tile.
  // Nothing is read of others.
  __device__ __forceinline__ uint32_t VisibleRows(int tile) const {
    const int position = tile * kTileTokens + lane_ % kTileTokens;
    if constexpr (V::kIsGeneral) {
      return __ballot_sync(kAllLanes, Sees(item_.visible, position));
    }
    return __ballot_sync(kAllLanes, position < item_.context_len);
  }

  // Rows that lie side by side, from `first_slot` of the block on.
  template <typename Rows>
  __device__ __forceinline__ void IssueNeighbours(uint32_t place, int block,
                                                  int first_slot,
                                                  Rows rows) const {
    IssueNeighbours<Keys>(place, HeadOf(p_.key), p_.key, block, first_slot,
                          rows, p_.key_dim);
    IssueNeighbours<Values>(place + Keys::kTileBytes, HeadOf(p_.value),
                            p_.value, block, first_slot, rows, p_.value_dim);
  }

  template <typename Layout, typename Rows>
  __device__ __forceinline__ void IssueNeighbours(uint32_t target,
                                                  const Storage* head,
                                                  const KvView& view, int block,
                                                  int first_slot, Rows rows,
                                                  int dim) const {
    const Storage* next =
        head + ChunkOffset<Layout>() +
        OffsetOf(view, block, first_slot + lane_ / Layout::kLanesPerRow, 0);
    IssueRows<Layout>(target, rows, dim, [&](int) {
      const Storage* line = next;
      next += Layout::kRowsPerCopy * view.slot_stride;
      return line;
    });
  }

  // Rows whose offsets the lanes from `first_lane` on have.
  template <typename Layout>
  __device__ __forceinline__ void IssueRowsAt(uint32_t target,
                                              const Storage* head,
                                              int64_t offset, int first_lane,
                                              SomeRows rows, int dim) const {
    const Storage* chunk = head + ChunkOffset<Layout>();
    IssueRows<Layout>(target, rows, dim, [&](int row) {
      return chunk +
             __shfl_sync(kAllLanes, offset, first_lane + row % kTileTokens);
    });
  }

  // Of a row, where the lane's first chunk is.
  template <typename Layout>
  __device__ __forceinline__ int ChunkOffset() const {
    return lane_ % Layout::kLanesPerRow * Layout::kChunkElements;
  }

  // All lanes ask `source` for their chunk of the rows of each copy, from the
  // first on, and copy it and those behind.
  template <typename Layout, typename Rows, typename Source>
  __device__ __forceinline__ void IssueRows(uint32_t target, Rows rows, int dim,
                                            Source source) const {
    constexpr bool kDividesTile = kTileTokens % Layout::kRowsPerCopy == 0;
    const int row = lane_ / Layout::kLanesPerRow;
    const int chunk = lane_ % Layout::kLanesPerRow;
    const int num_chunks =
        V::kIsGeneral ? dim / Layout::kChunkElements : Layout::kChunks;
    const uint32_t first = target + Layout::Offset(row, chunk);
    const Rows rows_from_own = rows.From(row);
#pragma unroll
    for (int r = 0; r < kTileTokens; r += Layout::kRowsPerCopy) {
      const Storage* line = source(r + row);
      const int bytes = rows_from_own.Bytes(r);
#pragma unroll
      for (int c = 0; c < Layout::kChunks; c += Layout::kLanesPerRow) {
        if (row < Layout::kRowsPerCopy && chunk + c < num_chunks &&
            (kDividesTile || r + row < kTileTokens)) {
          CopyAsync16OrZero(kDividesTile
                                ? Layout::Move(first, r, c)
                                : target + Layout::Offset(r + row, chunk + c),
                            line + c * Layout::kChunkElements, bytes);
        }
      }
    }
  }

  template <typename Layout>
  __device__ __forceinline__ void IssueRowPieces(uint32_t target,
                                                 const Storage* head,
                                                 const KvView& view, int block,
                                                 int slot, uint32_t visible,
                                                 int dim) const {
#pragma unroll 1
    for (int r = 0; r < kTileTokens; r += Layout::kRowsPerCopy) {
      const int row = r + lane_ / Layout::kLanesPerRow;
      const int row_block = __shfl_sync(kAllLanes, block, row);
      const int row_slot = __shfl_sync(kAllLanes, slot, row);
      if (row - r >= Layout::kRowsPerCopy || row >= kTileTokens) continue;
      const int bytes = (visible >> row & 1) != 0 ? 8 : 0;
      const Storage* source = head + OffsetOf(view, row_block, row_slot, 0);
#pragma unroll 1
      for (int c = lane_ % Layout::kLanesPerRow;
           c * Layout::kChunkElements < dim; c += Layout::kLanesPerRow) {
        const uint32_t place = target + Layout::Offset(row, c);
        const int dims_left = dim - c * Layout::kChunkElements;
        CopyAsync8OrZero(place, source + c * Layout::kChunkElements, bytes);
        CopyAsync8OrZero(place + 8, source + c * Layout::kChunkElements + 8,
                         dims_left >= Layout::kChunkElements ? bytes : 0);
      }
    }
  }

  // A lane's scale: the key's of token `lane` of the tile, or the value's of
  // token `lane - 16`.
  __device__ __forceinline__ void IssueScales(uint32_t tile, int block,
                                              int slot,
                                              uint32_t visible) const {
    if constexpr (V::kIsGeneral && V::kHasByteElements) {
      const KvScales& scales =
          lane_ < kTileTokens ? p_.key_scales : p_.value_scales;
      if (!AreByToken(scales)) return;
      const int64_t offset = block * scales.block_stride +
                             slot * scales.slot_stride +
                             kv_head_ * scales.head_stride;
      CopyAsync4OrZero(tile + kScaleOffset + lane_ * 4, scales.data + offset,
                       (visible >> lane_ % kTileTokens & 1) != 0 ? 4 : 0);
    }
  }

  const DecodeParams& p_;
  const WorkItem& item_;
  int kv_head_;
  int lane_;
  bool has_chunks_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_TILE_COPIES_CUH_
