// The schedule of a small batch, by comparing each sequence with each other.
//
// Grid    one CTA.
// Warp    some rungs, of all sequences; then some neighbouring sequences.
// Lane    a share of the sequences at the warp's rungs; then, with its
//         neighbours, one sequence: kThreads / kSeqs lanes place it together,
//         and write its chunks in turn.
// Shared  12 bytes a sequence.
//
// Two barriers, and every length is loaded once: what such a batch costs is
// latency.
#ifndef PAGED_KERNELS_CUDA_SMALL_SCHEDULE_CUH_
#define PAGED_KERNELS_CUDA_SMALL_SCHEDULE_CUH_

#include <climits>

#include "kernels/cuda/schedule_steps.cuh"

namespace paged {

template <int kSeqs, int kThreads>
struct SmallSchedule {
  static_assert(kSeqs % 32 == 0 && kThreads % kSeqs == 0);
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kLanes = kThreads / kSeqs;  // of a sequence
  static_assert(kLanes <= 32);

  struct Sequence {
    int order;  // sequences with smaller ones lie before
    int num_chunks;
  };

  struct Shared {
    uint32_t extra_chunks[kNumRungs];  // of the batch at each rung
    Sequence sequences[kSeqs];
  };

  // Where a sequence's chunks and partials begin.
  struct Place {
    int chunk = 0;
    int partial = 0;
  };

  static __device__ void CountAtEachRung(const ScheduleParams& p,
                                         const int (&num_tiles)[kSeqs / 32],
                                         Shared& shared) {
    const uint32_t too_many = ExtraRoom(p) + 1;
#pragma unroll
    for (int i = 0; i < (kNumRungs + kWarps - 1) / kWarps; ++i) {
      const int rung = i * kWarps + Warp();
      uint32_t extra = 0;
#pragma unroll
      for (int tiles : num_tiles) {
        const int num_chunks = CountChunks(tiles, rung);
        extra = min(extra + static_cast<uint32_t>(num_chunks - 1), too_many);
      }
      extra = __reduce_add_sync(kAllLanes, extra);
      if (Lane() == 0 && rung < kNumRungs) shared.extra_chunks[rung] = extra;
    }
  }

  // Lanes of a sequence look at different ones of all.
  static __device__ Place FindPlace(const Shared& shared, int seq, int order) {
    Place place;
#pragma unroll
    for (int i = 0; i < kSeqs / kLanes; ++i) {
      const int other = i * kLanes + Lane() % kLanes;
      const auto [other_order, num_chunks] = shared.sequences[other];
      if (other_order < order) place.chunk += num_chunks;
      if (other < seq && num_chunks > 1) place.partial += num_chunks;
    }
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) {
      place.chunk += __shfl_xor_sync(kAllLanes, place.chunk, step);
      place.partial += __shfl_xor_sync(kAllLanes, place.partial, step);
    }
    return place;
  }

  static __device__ void Make(const ScheduleParams& p, Shared& shared) {
    const int seq = static_cast<int>(threadIdx.x) / kLanes;
    const int rank = Lane() % kLanes;
    const bool is_seq = seq < p.num_seqs;
    const int context_len = is_seq ? ContextLenAt(p, seq) : 0;
    int num_tiles[kSeqs / 32];
#pragma unroll
    for (int i = 0; i < kSeqs / 32; ++i) {
      const int other = i * 32 + Lane();
      num_tiles[i] = other < p.num_seqs ? NumTiles(ContextLenAt(p, other)) : 0;
    }
    CountAtEachRung(p, num_tiles, shared);
    __syncthreads();
    const uint32_t extra_chunks = shared.extra_chunks[Lane()];
    const int rung = SmallestRung(p, extra_chunks);
    const SequenceCut cut = CutAt(context_len, rung);
    const int order =
        is_seq ? BucketOf(cut.chunk_tiles()) * kSeqs + seq : INT_MAX;
    if (rank == 0) {
      shared.sequences[seq] = {order, is_seq ? cut.num_chunks : 0};
    }
    __syncthreads();
    const Place place = FindPlace(shared, seq, order);
    if (!is_seq) return;
    for (int r = rank; r < cut.num_chunks; r += kLanes) {
      StoreChunk(p.schedule.chunks + place.chunk + r,
                 ChunkOf(cut, seq, r, place.partial));
    }
    if (seq == p.num_seqs - 1 && rank == 0) {
      StoreHeader(p, shared.extra_chunks[rung],
                  place.partial + cut.num_partials(), rung);
    }
  }
};

template <int kSeqs, int kThreads>
__global__ void __launch_bounds__(kThreads)
    SmallScheduleKernel(const __grid_constant__ ScheduleParams p) {
  using Schedule = SmallSchedule<kSeqs, kThreads>;
  __shared__ typename Schedule::Shared shared;
  WaitForGridBefore();
  Schedule::Make(p, shared);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_SMALL_SCHEDULE_CUH_
