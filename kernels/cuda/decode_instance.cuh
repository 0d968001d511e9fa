// An instance as a type: an index into kInstances, so that what the planner
// reads and what is compiled cannot differ.
#ifndef PAGED_KERNELS_CUDA_DECODE_INSTANCE_CUH_
#define PAGED_KERNELS_CUDA_DECODE_INSTANCE_CUH_

#include <concepts>
#include <cstddef>

#include "kernels/core/instance.h"
#include "kernels/cuda/ptx.cuh"

namespace paged {

template <std::size_t kIndex>
struct DecodeInstance {
  static constexpr InstanceConfig kConfig = kInstances[kIndex];

  using Element = DeviceElement<kConfig.element>;
  static constexpr int kHeadDim = kConfig.head_dim;
  static constexpr int kWarps = kConfig.shape.warps;
  static constexpr int kStages = kConfig.shape.stages;
  static constexpr int kThreads = kConfig.threads();
  static constexpr int kRingBytes = kConfig.ring_bytes();
  static constexpr int kSharedBytes = kConfig.shared_bytes();

  // CTAs that should fit an SM: as many as the 228 KB of shared memory of an
  // sm_90 hold (1 KB of each is the system's), as long as the 65,536 registers
  // last. The accumulators and the query take 3 / 4 head_dim of a thread's;
  // below head_dim + 40 the loop spills. Between the two a third CTA of 4 warps
  // would fit at head_dim 128, and loses: 64 x 4096 with 8 kv heads are 1.3
  // waves then instead of 1.9 (H200: 259.8 against 245.6 us).
  static constexpr int kMinCtas = [] {
    const int by_shared = 228 * 1024 / (kSharedBytes + 1024);
    const int by_registers = 65536 / ((kHeadDim + 64) * kThreads);
    return by_shared < by_registers ? by_shared : by_registers;
  }();

  // A token's row of K or V in shared memory: 16-byte chunks, eight elements.
  static constexpr int kRowBytes = kHeadDim * 2;
  static constexpr int kChunksPerRow = kRowBytes / 16;
  static constexpr int kTileBytes = kTileTokens * kRowBytes;
  static constexpr int kStageBytes = kConfig.stage_bytes();
};

template <typename V>
concept IsDecodeInstance = requires {
  { V::kConfig } -> std::convertible_to<InstanceConfig>;
};

// Byte offset of a chunk in a tile. The exclusive or spreads a column of
// chunks over all banks, so that neither cp.async nor ldmatrix conflicts.
//
// Tiles are aligned to more than a row, so an address can be moved on without
// computing it anew, which would cost a register for each:
//   address of (row, chunk + c) = address of (row, chunk) ^ (c * 16)
// where c has no bit of chunk, and
//   address of (row + r, chunk) = (address of (row, chunk) ^ (r % 8 * 16))
//                                 + r * kRowBytes
// where r has no bit of row.
template <IsDecodeInstance V>
__device__ __forceinline__ uint32_t SwizzledOffset(int row, int chunk) {
  return static_cast<uint32_t>(row * V::kRowBytes + ((chunk ^ (row & 7)) * 16));
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_DECODE_INSTANCE_CUH_
