// Steps that both kernels of make_schedule.cu take.
#ifndef PAGED_KERNELS_CUDA_SCHEDULE_STEPS_CUH_
#define PAGED_KERNELS_CUDA_SCHEDULE_STEPS_CUH_

#include <cstdint>

#include "kernels/core/schedule.h"
#include "kernels/cuda/ptx.cuh"

namespace paged {

static_assert(kNumRungs == 32, "a lane has a rung");

__device__ __forceinline__ int Lane() {
  return static_cast<int>(threadIdx.x % 32);
}
__device__ __forceinline__ int Warp() {
  return static_cast<int>(threadIdx.x / 32);
}

// Chunks that a batch may have beyond one per sequence.
__device__ __forceinline__ uint32_t ExtraRoom(const ScheduleParams& p) {
  return static_cast<uint32_t>(p.max_chunks - p.num_seqs);
}

// The most. Counts of extra chunks stop at one more than there is room for,
// which stands for any larger number: 32 of them must fit 32 bits.
inline constexpr int kMaxExtraRoom = 1 << 26;

// The smallest rung at which the batch fits, of what it would have at rung
// Lane(). The last one always does.
__device__ __forceinline__ int SmallestRung(const ScheduleParams& p,
                                            uint32_t extra_chunks) {
  const bool fits = Lane() == kWholeRung ||
                    (Lane() >= p.first_rung && extra_chunks <= ExtraRoom(p));
  return __ffs(static_cast<int>(__ballot_sync(kAllLanes, fits))) - 1;
}

__device__ __forceinline__ void StoreChunk(Chunk* to, const Chunk& c) {
  int4* words = reinterpret_cast<int4*>(to);
  words[0] = make_int4(c.seq, c.context_len, c.first_tile, c.last_tile);
  words[1] = make_int4(c.first_partial, c.rank, c.num_chunks, c.unused);
}

__device__ __forceinline__ void StoreHeader(const ScheduleParams& p,
                                            uint32_t extra_chunks,
                                            int num_partials, int rung) {
  *reinterpret_cast<int4*>(p.schedule.header) = make_int4(
      p.num_seqs + static_cast<int>(extra_chunks), num_partials, rung, 0);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_SCHEDULE_STEPS_CUH_
