// The schedule of a batch of any size, by counting.
//
// Grid    one CTA: the list is short, and a second one would have to wait.
// Warp    neighbouring sequences, in rows of 32.
// Lane    one sequence of a row; a rung where the warps' counts meet, four
//         buckets where these begin.
// Shared  676 bytes a warp, and 512.
//
// A warp goes through its rows alone, and counts with counters of its own; the
// warps meet at three barriers, whatever the batch. One that fits the registers
// (kIsHeld) loads every length once.
#ifndef PAGED_KERNELS_CUDA_LARGE_SCHEDULE_CUH_
#define PAGED_KERNELS_CUDA_LARGE_SCHEDULE_CUH_

#include "kernels/cuda/schedule_row.cuh"
#include "kernels/cuda/schedule_steps.cuh"

namespace paged {

// Lane r gets the sum of all lanes' x[r], in x[0]: in each step a lane gives
// away the half that is not its own.
template <int kHalf = 16>
__device__ __forceinline__ void SumEach(uint32_t (&x)[32]) {
  const bool is_upper = (Lane() & kHalf) != 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    const uint32_t low = x[i];
    const uint32_t high = x[i + kHalf];
    x[i] = (is_upper ? high : low) +
           __shfl_xor_sync(kAllLanes, is_upper ? low : high, kHalf);
  }
  if constexpr (kHalf > 1) SumEach<kHalf / 2>(x);
}

// kRows rows of a warp are loaded, and worked on, at once.
template <int kWarps, int kRows, bool kIsHeld>
struct LargeSchedule {
  struct Shared {
    uint32_t extra_chunks[kWarps][kNumRungs];  // of the warp's sequences
    int places[kWarps][kNumBuckets];  // chunks, then where the next one goes
    int bucket_start[kNumBuckets];    // chunks, then where they begin
    int partials[kWarps];
    uint8_t long_lanes[kWarps][32];
  };

  // A warp's sequences: the first, and past the last.
  struct Range {
    int first;
    int last;
  };

  // A lane's part of kRows rows.
  struct Rows {
    int context_len[kRows];
  };

  static __device__ Range RangeOfWarp(const ScheduleParams& p) {
    const int rows = (p.num_seqs + 32 * kWarps - 1) / (32 * kWarps);
    const int first = Warp() * rows * 32;
    return {first, min(first + rows * 32, p.num_seqs)};
  }

  static __device__ void Load(const ScheduleParams& p, const Range& range,
                              int first, Rows& rows) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int seq = first + i * 32 + Lane();
      rows.context_len[i] = seq < range.last ? ContextLenAt(p, seq) : 0;
    }
  }

  static __device__ void CountAtEachRung(const ScheduleParams& p,
                                         const Range& range, Rows& rows,
                                         Shared& shared) {
    const uint32_t too_many = ExtraRoom(p) + 1;
    uint32_t extra[kNumRungs] = {};
    for (int first = range.first; first < range.last; first += kRows * 32) {
      Load(p, range, first, rows);
#pragma unroll
      for (int rung = 0; rung < kWholeRung; ++rung) {
        // At most 2^26 a sequence.
        static_assert(kRows <= 16);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const int tiles = NumTiles(rows.context_len[i]);
          extra[rung] += static_cast<uint32_t>(CountChunks(tiles, rung) - 1);
        }
        extra[rung] = min(extra[rung], too_many);
      }
    }
    SumEach(extra);
    shared.extra_chunks[Warp()][Lane()] = min(extra[0], too_many);
  }

  static __device__ uint32_t SumOfWarps(const Shared& shared) {
    uint32_t extra = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) extra += shared.extra_chunks[w][Lane()];
    return extra;
  }

  // Turns the warps' chunks of each bucket into places within it, and the
  // buckets' into where these begin.
  static __device__ void StartBuckets(Shared& shared) {
    for (int b = static_cast<int>(threadIdx.x); b < kNumBuckets;
         b += kWarps * 32) {
      int place = 0;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        const int count = shared.places[w][b];
        shared.places[w][b] = place;
        place += count;
      }
    }
    if (Warp() != kWarps - 1) return;
    constexpr int kPerLane = kNumBuckets / 32;
    int* mine = shared.bucket_start + Lane() * kPerLane;
    int size = 0;
#pragma unroll
    for (int b = 0; b < kPerLane; ++b) size += mine[b];
    int start = SumBelow(size);
#pragma unroll
    for (int b = 0; b < kPerLane; ++b) {
      const int next = start + mine[b];
      mine[b] = start;
      start = next;
    }
  }

  static __device__ void Clear(Shared& shared) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = thread; i < kWarps * kNumBuckets; i += kWarps * 32) {
      (&shared.places[0][0])[i] = 0;
    }
    for (int i = thread; i < kNumBuckets; i += kWarps * 32) {
      shared.bucket_start[i] = 0;
    }
  }

  // Places the warp's sequences among themselves, and counts their
  // partials.
  static __device__ void PlaceSequences(const ScheduleParams& p,
                                        const Range& range, int rung,
                                        Rows& rows, Placed (&placed)[kRows],
                                        Shared& shared) {
    int* const places = shared.places[Warp()];
    int partials = 0;
    for (int first = range.first; first < range.last; first += kRows * 32) {
      if constexpr (!kIsHeld) Load(p, range, first, rows);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int seq = first + i * 32 + Lane();
        placed[i] = PlaceRow(rows.context_len[i], seq < range.last, rung,
                             places, partials);
      }
    }
    for (int b = Lane(); b < kNumBuckets; b += 32) {
      if (places[b] != 0) atomicAdd(&shared.bucket_start[b], places[b]);
    }
    if (Lane() == 0) shared.partials[Warp()] = partials;
  }

  // Writes the chunks of the warp's sequences; its first partial is
  // `partials`. Rows that were not held are placed again.
  static __device__ void EmitSequences(const ScheduleParams& p,
                                       const Range& range, int rung,
                                       int partials, Rows& rows,
                                       Placed (&placed)[kRows],
                                       Shared& shared) {
    int* const places = shared.places[Warp()];
    const int first_partial = partials;
    if constexpr (!kIsHeld) {
      for (int b = Lane(); b < kNumBuckets; b += 32) {
        places[b] += shared.bucket_start[b];
      }
      __syncwarp();
    }
    for (int first = range.first; first < range.last; first += kRows * 32) {
      if constexpr (!kIsHeld) Load(p, range, first, rows);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int seq = first + i * 32 + Lane();
        const bool is_seq = seq < range.last;
        if (!__any_sync(kAllLanes, is_seq)) break;
        if constexpr (kIsHeld) {
          placed[i].place +=
              shared.bucket_start[placed[i].bucket] + places[placed[i].bucket];
          placed[i].first_partial += first_partial;
        } else {
          placed[i] =
              PlaceRow(rows.context_len[i], is_seq, rung, places, partials);
        }
        EmitRow(p, seq, is_seq, placed[i], shared.long_lanes[Warp()]);
      }
    }
  }

  static __device__ void Make(const ScheduleParams& p, Shared& shared) {
    const Range range = RangeOfWarp(p);
    Rows rows = {};
    CountAtEachRung(p, range, rows, shared);
    __syncthreads();
    const uint32_t extra_chunks = SumOfWarps(shared);
    const int rung = SmallestRung(p, extra_chunks);
    Placed placed[kRows];
    PlaceSequences(p, range, rung, rows, placed, shared);
    __syncthreads();
    StartBuckets(shared);
    const int partials = Lane() < kWarps ? shared.partials[Lane()] : 0;
    const int below = SumBelow(partials);
    const uint32_t at_rung = __shfl_sync(kAllLanes, extra_chunks, rung);
    if (threadIdx.x == 31) StoreHeader(p, at_rung, below + partials, rung);
    __syncthreads();
    EmitSequences(p, range, rung, __shfl_sync(kAllLanes, below, Warp()), rows,
                  placed, shared);
  }
};

template <int kWarps, int kRows, bool kIsHeld>
__global__ void __launch_bounds__(kWarps * 32)
    LargeScheduleKernel(const __grid_constant__ ScheduleParams p) {
  using Schedule = LargeSchedule<kWarps, kRows, kIsHeld>;
  __shared__ typename Schedule::Shared shared;
  Schedule::Clear(shared);
  WaitForGridBefore();
  Schedule::Make(p, shared);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_LARGE_SCHEDULE_CUH_
