// Makes a schedule: the steps of kernels/core/schedule.h, side by side.
//
// Grid    one CTA: the list is short, and a second one would have to wait.
// Warp    32 neighbouring sequences, and again every kThreads.
// Lane    one sequence; in the choice of the rung, one rung.
//
// Integers only, so that no order of arrival shows in the list.
#include "kernels/core/schedule.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {
namespace {

constexpr int kMaxWarps = 32;
static_assert(kNumRungs == 32, "a lane has a rung");

// Tiles of a lane that has no sequence.
constexpr int kNoSequence = -1;

struct Shared {
  int chunks_at[kMaxWarps][kNumRungs];  // of the warp's sequences, at each rung
  int bucket_start[kNumBuckets];        // where its next chunk goes
  int places[kMaxWarps][kNumBuckets];
  int partials[kMaxWarps];
};

__device__ __forceinline__ int Lane() { return threadIdx.x % 32; }
__device__ __forceinline__ int Warp() { return threadIdx.x / 32; }
__device__ __forceinline__ int NumWarps() { return blockDim.x / 32; }

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

// The smallest rung at which the batch fits; every thread gets it.
__device__ int ChooseRungTogether(const ScheduleParams& p, Shared& shared) {
  // One more than fits stands for any larger count, and sums of it stay small.
  const int too_many = p.max_chunks + 1;
  int count = 0;  // at rung Lane()
  for (int first = Warp() * 32; first < p.num_seqs; first += blockDim.x) {
    const int seq = first + Lane();
    const int num_tiles =
        seq < p.num_seqs ? NumTiles(ClampContextLen(__ldg(p.context_lens + seq),
                                                    p.max_context_len))
                         : kNoSequence;
    int here = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int tiles = __shfl_sync(kAllLanes, num_tiles, i);
      if (tiles != kNoSequence) {
        here += min(CountChunks(tiles, Lane()), too_many);
      }
    }
    count = min(count + here, too_many);
  }
  shared.chunks_at[Warp()][Lane()] = count;
  __syncthreads();
  int total = 0;
  for (int w = 0; w < NumWarps(); ++w) {
    total = min(total + shared.chunks_at[w][Lane()], too_many);
  }
  const bool fits = Lane() >= p.first_rung && total <= p.max_chunks;
  const unsigned rungs = __ballot_sync(kAllLanes, fits);
  return rungs == 0 ? kWholeRung : __ffs(static_cast<int>(rungs)) - 1;
}

// Turns the buckets' sizes in bucket_start into where they begin; returns how
// many chunks there are. One warp calls it; a lane has four buckets.
__device__ int StartBuckets(Shared& shared) {
  constexpr int kPerLane = kNumBuckets / 32;
  int* mine = shared.bucket_start + Lane() * kPerLane;
  int size = 0;
#pragma unroll
  for (int b = 0; b < kPerLane; ++b) size += mine[b];
  const int below = SumBelow(size);
  int start = below;
#pragma unroll
  for (int b = 0; b < kPerLane; ++b) {
    const int next = start + mine[b];
    mine[b] = start;
    start = next;
  }
  return __shfl_sync(kAllLanes, below + size, 31);
}

// Chunks of lanes below this one in the same bucket; `in_bucket` gets those of
// all lanes. Most sequences are one chunk; only the others are looked at one by
// one.
__device__ __forceinline__ int ChunksBelow(int bucket, int num_chunks,
                                           int& in_bucket) {
  const unsigned peers = __match_any_sync(kAllLanes, bucket);
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

// Turns the warps' counts of each bucket into places, and moves the buckets'
// starts on.
__device__ __forceinline__ void PlaceWarps(Shared& shared) {
  for (int bucket = threadIdx.x; bucket < kNumBuckets; bucket += blockDim.x) {
    int place = shared.bucket_start[bucket];
#pragma unroll 8
    for (int w = 0; w < NumWarps(); ++w) {
      const int count = shared.places[w][bucket];
      shared.places[w][bucket] = place;
      place += count;
    }
    shared.bucket_start[bucket] = place;
  }
}

__device__ __forceinline__ void StoreChunk(Chunk* to, const Chunk& c) {
  int4* words = reinterpret_cast<int4*>(to);
  words[0] = make_int4(c.seq, c.context_len, c.first_tile, c.last_tile);
  words[1] = make_int4(c.first_partial, c.rank, c.num_chunks, c.unused);
}

// Each lane has a sequence and its place; the lanes share the chunks of a long
// one out.
__device__ __forceinline__ void EmitChunks(const ScheduleParams& p, int seq,
                                           const SequenceCut& cut, int place,
                                           int first_partial) {
  if (cut.num_chunks == 1) {
    StoreChunk(p.schedule.chunks + place, ChunkOf(cut, seq, 0, first_partial));
  }
  unsigned long_ones = __ballot_sync(kAllLanes, cut.num_chunks > 1);
  while (long_ones != 0) {
    const int from = __ffs(static_cast<int>(long_ones)) - 1;
    long_ones &= long_ones - 1;
    const SequenceCut other = {__shfl_sync(kAllLanes, cut.context_len, from),
                               __shfl_sync(kAllLanes, cut.num_tiles, from),
                               __shfl_sync(kAllLanes, cut.num_chunks, from)};
    const int other_seq = __shfl_sync(kAllLanes, seq, from);
    const int other_place = __shfl_sync(kAllLanes, place, from);
    const int other_partial = __shfl_sync(kAllLanes, first_partial, from);
    for (int rank = Lane(); rank < other.num_chunks; rank += 32) {
      StoreChunk(p.schedule.chunks + other_place + rank,
                 ChunkOf(other, other_seq, rank, other_partial));
    }
  }
}

// Counts the chunks of every bucket into bucket_start, which is zero.
__device__ void FillBuckets(const ScheduleParams& p, int rung, Shared& shared) {
  for (int seq = threadIdx.x; seq < p.num_seqs; seq += blockDim.x) {
    const SequenceCut cut = CutSequence(p, seq, rung);
    atomicAdd(&shared.bucket_start[BucketOf(cut.chunk_tiles())],
              cut.num_chunks);
  }
  __syncthreads();
}

// The sequences first, first + 1, ...: one a thread. Returns the partials that
// they and those before leave.
__device__ int PlaceSequences(const ScheduleParams& p, int rung, int first,
                              int num_partials, Shared& shared) {
  for (int i = threadIdx.x; i < NumWarps() * kNumBuckets; i += blockDim.x) {
    (&shared.places[0][0])[i] = 0;
  }
  const int seq = first + static_cast<int>(threadIdx.x);
  const bool is_seq = seq < p.num_seqs;
  const SequenceCut cut =
      is_seq ? CutSequence(p, seq, rung) : SequenceCut{0, 0, 0};
  // Nobody's bucket is the one past the last.
  const int bucket = is_seq ? BucketOf(cut.chunk_tiles()) : kNumBuckets;
  int in_bucket = 0;
  const int below = ChunksBelow(bucket, cut.num_chunks, in_bucket);
  const int partials_below = SumBelow(cut.num_partials());
  __syncthreads();
  if (is_seq && below == 0) shared.places[Warp()][bucket] = in_bucket;
  if (Lane() == 31) {
    shared.partials[Warp()] = partials_below + cut.num_partials();
  }
  __syncthreads();
  PlaceWarps(shared);
  const int warp_partials = Lane() < NumWarps() ? shared.partials[Lane()] : 0;
  const int warps_below = SumBelow(warp_partials);
  const int first_partial = num_partials + partials_below +
                            __shfl_sync(kAllLanes, warps_below, Warp());
  __syncthreads();
  const int place = is_seq ? shared.places[Warp()][bucket] + below : 0;
  EmitChunks(p, seq, cut, place, first_partial);
  __syncthreads();
  return num_partials + __shfl_sync(kAllLanes, warps_below + warp_partials, 31);
}

__global__ void __launch_bounds__(kMaxWarps * 32)
    MakeScheduleKernel(const __grid_constant__ ScheduleParams p) {
  __shared__ Shared shared;
  for (int b = threadIdx.x; b < kNumBuckets; b += blockDim.x) {
    shared.bucket_start[b] = 0;
  }
  WaitForGridBefore();
  const int rung = ChooseRungTogether(p, shared);
  FillBuckets(p, rung, shared);
  int num_chunks = 0;
  if (Warp() == 0) num_chunks = StartBuckets(shared);
  __syncthreads();
  int num_partials = 0;
  for (int first = 0; first < p.num_seqs; first += blockDim.x) {
    num_partials = PlaceSequences(p, rung, first, num_partials, shared);
  }
  if (threadIdx.x == 0) {
    *p.schedule.header = {num_chunks, num_partials, rung, 0};
  }
}

}  // namespace

cudaError_t LaunchMakeSchedule(const ScheduleParams& p, cudaStream_t stream) {
  const int warps = (p.num_seqs + 31) / 32;
  const int threads = 32 * (warps < 4           ? 4
                            : warps > kMaxWarps ? kMaxWarps
                                                : warps);
  return LaunchKernel(
      &MakeScheduleKernel,
      {.grid = dim3(1), .threads = threads, .starts_early = true}, stream, p);
}

cudaError_t PrepareMakeSchedule() {
  cudaFuncAttributes attributes;  // asking for them loads the kernel
  return cudaFuncGetAttributes(&attributes, &MakeScheduleKernel);
}

}  // namespace paged
