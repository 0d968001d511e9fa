// An instance as a type: an index into kInstances, so that what the planner
// reads and what is compiled cannot differ.
#ifndef PAGED_KERNELS_CUDA_DECODE_INSTANCE_CUH_
#define PAGED_KERNELS_CUDA_DECODE_INSTANCE_CUH_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "kernels/core/instance.h"
#include "kernels/cuda/fragment_layout.cuh"

namespace paged {

// A tile of keys or values, or the query, in shared memory: rows of 16-byte
// chunks, eight of which are permuted by the row so that neither cp.async nor
// the loads of fragments meet in a bank.
template <int kDim, int kElementBytes>
struct TileLayout {
  static constexpr int kRowBytes =
      InstanceConfig::RowBytes(kDim, kElementBytes);
  static constexpr int kTileBytes = kTileTokens * kRowBytes;
  static constexpr int kChunkElements = 16 / kElementBytes;
  static constexpr int kChunks = kDim / kChunkElements;
  // Lanes that copy a row side by side: all its chunks, or four at a time where
  // that takes fewer copies. Whole rows touch fewer cache lines (H200, 64 x
  // 2048 at head_dim 112: 142 -> 127 us); some lanes idle where they do not
  // divide.
  static constexpr int kWholeRows = std::max(1, 32 / kChunks);
  static constexpr int kLanesPerRow =
      kChunks <= 32 && (kTileTokens + kWholeRows - 1) / kWholeRows <=
                           (kChunks + 3) / 4 * kTileTokens / 8
          ? kChunks
          : 4;
  static constexpr int kRowsPerCopy = 32 / kLanesPerRow;

  // Fragments are read by ldmatrix, whose eight rows are neighbours; those of
  // byte elements also by 16-byte loads of two rows at a time, four
  // neighbouring chunks of each, so that neighbouring rows have to differ by
  // four.
  static __device__ __forceinline__ constexpr int Spread(int row) {
    return kElementBytes == 1 ? (row & 1) << 2 | (row >> 1 & 3) : row & 7;
  }

  static __device__ __forceinline__ uint32_t Offset(int row, int chunk) {
    return static_cast<uint32_t>(row * kRowBytes +
                                 ((chunk ^ Spread(row)) * 16));
  }

  // From the place of (row, chunk) to that of (row + rows, chunk + chunks),
  // without a register for each, where neither addition carries.
  static __device__ __forceinline__ uint32_t Move(uint32_t place, int rows,
                                                  int chunks) {
    return (place ^
            static_cast<uint32_t>((Spread(rows % 8) ^ chunks % 8) * 16)) +
           static_cast<uint32_t>(rows * kRowBytes + chunks / 8 * 128);
  }
};

template <std::size_t kIndex>
struct DecodeInstance {
  static constexpr InstanceConfig kConfig = kInstances[kIndex];

  static constexpr ElementKind kElement = kConfig.element;
  static constexpr bool kIsGeneral = kConfig.is_general();
  static constexpr bool kHasTensorCores = kConfig.has_tensor_cores();
  static constexpr bool kHasByteElements = kConfig.has_byte_elements();
  // Whether queries and outputs have the dtype of the cache, and no rules.
  static constexpr bool kIsPlain = !kIsGeneral && !kHasByteElements;

  static constexpr int kElementBytes = BytesOf(kElement);
  using Storage = std::conditional_t<
      kElementBytes == 1, uint8_t,
      std::conditional_t<kElementBytes == 2, uint16_t, float>>;
  static constexpr int kKeyDim = kConfig.key_dim;
  static constexpr int kValueDim = kConfig.value_dim;
  using Keys = TileLayout<kKeyDim, kElementBytes>;
  using Values = TileLayout<kValueDim, kElementBytes>;
  using Query = TileLayout<kKeyDim, 2>;  // with kMaxRows rows

  static constexpr int kWarps = kConfig.shape.warps;
  static constexpr int kStages = kConfig.shape.stages;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kMaxRows = kConfig.max_rows;
  static constexpr bool kIsNarrow = kMaxRows == kNarrowRows;
  using Layout = std::conditional_t<kIsNarrow, RowsOfTokens, RowsOfQuery>;
  // Products that the rows take, on tensor cores.
  static constexpr int kRowGroups = kMaxRows / Layout::kRows;
  static constexpr int kTilesPerStage = kConfig.tiles_per_stage();
  static constexpr int kTileBytes = kConfig.tile_bytes();
  static_assert(kTileBytes % 128 == 0, "TileLayout::Move must not carry");
  static constexpr int kStageBytes = kConfig.stage_bytes();
  static constexpr int kBiasBytes = kConfig.bias_bytes();
  static constexpr int kWarpMergeBytes = kConfig.warp_merge_bytes();
  static constexpr int kWorkBytes = kConfig.work_bytes();
  static constexpr int kSharedBytes = kConfig.shared_bytes();

  // Larger queries are loaded from shared memory for each tile.
  static constexpr bool kKeepsQuery = kKeyDim * kMaxRows <= 192 * kMmaRows;

  // CTAs that should fit an SM: as many as the 228 KB of shared memory of an
  // sm_90 hold (1 KB of each is the system's), as long as the 65,536 registers
  // last. The accumulators and the query take 3 / 4 head_dim of a thread's for
  // 16 rows; below head_dim + 40 the loop spills. Between the two a third CTA
  // of 4 warps would fit at head_dim 128, and loses: 64 x 4096 with 8 kv heads
  // are 1.3 waves then instead of 1.9 (H200: 259.8 against 245.6 us). Rules of
  // scores keep 32 more. Of bytes a third CTA hides the conversion.
  static constexpr int kMinCtas = [] {
    const int by_shared = 228 * 1024 / (kSharedBytes + 1024);
    const int registers =
        kHasTensorCores ? std::max(kKeyDim, kValueDim) * kMaxRows / kMmaRows +
                              (kIsGeneral         ? 96
                               : kHasByteElements ? 40
                                                  : 64)
                        : kValueDim / 4 + 128;
    const int by_registers = 65536 / (registers * kThreads);
    return std::max(1, std::min(by_shared, by_registers));
  }();
};

template <typename V>
concept IsDecodeInstance = requires {
  { V::kConfig } -> std::convertible_to<InstanceConfig>;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_DECODE_INSTANCE_CUH_
