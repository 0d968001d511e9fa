// A row of 32 sequences, one a lane of a warp: how they are placed behind those
// before them, and how their chunks are written.
#ifndef PAGED_KERNELS_CUDA_SCHEDULE_ROW_CUH_
#define PAGED_KERNELS_CUDA_SCHEDULE_ROW_CUH_

#include "kernels/cuda/schedule_steps.cuh"

namespace paged {

// Sum of the lanes below this one.
__device__ __forceinline__ int SumBelow(int x) {
  int sum = x;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(kAllLanes, sum, step);
    if (Lane() >= step) sum += below;
  }
  return sum - x;
}

// A lane's sequence. Its place, and its first partial, are counted from where
// the counters that it was placed with began.
struct Placed {
  SequenceCut cut;
  int bucket;
  int place;
  int first_partial;
};

// Chunks of lanes below this one in the same bucket; `in_bucket` gets those
// of all lanes. Most sequences are one chunk; only the others are looked at
// one by one.
__device__ __forceinline__ int ChunksBelow(unsigned peers, int num_chunks,
                                           int& in_bucket) {
  in_bucket = __popc(peers);
  int below = __popc(peers & ((1u << Lane()) - 1));
  unsigned long_ones = __ballot_sync(kAllLanes, num_chunks > 1);
  while (long_ones != 0) {
    const int from = __ffs(static_cast<int>(long_ones)) - 1;
    long_ones &= long_ones - 1;
    const int more = __shfl_sync(kAllLanes, num_chunks, from) - 1;
    if (((peers >> from) & 1) == 0) continue;
    in_bucket += more;
    if (from < Lane()) below += more;
  }
  return below;
}

// Places a row behind those before it. `places`, where the next chunk of each
// bucket goes, and num_partials are the warp's own, and move on.
__device__ __forceinline__ Placed PlaceRow(int context_len, bool is_seq,
                                           int rung, int* places,
                                           int& num_partials) {
  Placed placed;
  placed.cut = CutAt(context_len, rung);
  placed.bucket = BucketOf(placed.cut.chunk_tiles());
  // Lanes without a sequence are nobody's peers.
  const unsigned peers =
      __match_any_sync(kAllLanes, is_seq ? placed.bucket : kNumBuckets);
  int in_bucket = 0;
  const int below = ChunksBelow(peers, placed.cut.num_chunks, in_bucket);
  placed.place = places[placed.bucket] + below;
  __syncwarp();
  if (is_seq && below == 0) places[placed.bucket] += in_bucket;
  __syncwarp();
  placed.first_partial = num_partials;
  if (__any_sync(kAllLanes, placed.cut.num_chunks > 1)) {
    const int partials = placed.cut.num_partials();
    placed.first_partial += SumBelow(partials);
    num_partials = __shfl_sync(kAllLanes, placed.first_partial + partials, 31);
  }
  return placed;
}

// Each lane has a sequence; eight lanes, or more where there are few, write the
// chunks of a long one. `long_lanes` is the warp's own, 32 of them.
__device__ __forceinline__ void EmitRow(const ScheduleParams& p, int seq,
                                        bool is_seq, const Placed& placed,
                                        uint8_t* long_lanes) {
  const SequenceCut& cut = placed.cut;
  if (is_seq && cut.num_chunks == 1) {
    StoreChunk(p.schedule.chunks + placed.place,
               ChunkOf(cut, seq, 0, placed.first_partial));
  }
  const unsigned long_ones = __ballot_sync(kAllLanes, cut.num_chunks > 1);
  if (long_ones == 0) return;
  if (cut.num_chunks > 1) {
    long_lanes[__popc(long_ones & ((1u << Lane()) - 1))] =
        static_cast<uint8_t>(Lane());
  }
  __syncwarp();
  const int num_long = __popc(long_ones);
  const int lanes = num_long == 1 ? 32 : num_long == 2 ? 16 : 8;
  for (int first = 0; first < num_long; first += 32 / lanes) {
    const int i = first + Lane() / lanes;
    const int from = long_lanes[min(i, num_long - 1)];
    const SequenceCut other = {__shfl_sync(kAllLanes, cut.context_len, from),
                               __shfl_sync(kAllLanes, cut.num_chunks, from),
                               __shfl_sync(kAllLanes, cut.share, from),
                               __shfl_sync(kAllLanes, cut.larger, from)};
    const int other_seq = __shfl_sync(kAllLanes, seq, from);
    const int other_place = __shfl_sync(kAllLanes, placed.place, from);
    const int partial = __shfl_sync(kAllLanes, placed.first_partial, from);
    if (i >= num_long) continue;
    for (int rank = Lane() % lanes; rank < other.num_chunks; rank += lanes) {
      StoreChunk(p.schedule.chunks + other_place + rank,
                 ChunkOf(other, other_seq, rank, partial));
    }
  }
  __syncwarp();
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_SCHEDULE_ROW_CUH_
