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

// Odd, so that a column of it lies in as many banks as it has rows.
constexpr int kBucketStride = kNumBuckets + 1;

struct Shared {
  int chunks_at[kMaxWarps][kNumRungs];  // of the warp's sequences, at each rung
  int bucket_start[kNumBuckets];        // where its next chunk goes
  int places[kMaxWarps][kBucketStride];
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
                         : 0;
    const int here = min(32, p.num_seqs - first);
    for (int i = 0; i < here; ++i) {
      const int tiles = __shfl_sync(kAllLanes, num_tiles, i);
      count = min(count + CountChunks(tiles, Lane()), too_many);
    }
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

// Leaves in bucket_start where each bucket's chunks begin; returns how many
// chunks there are. A warp's threads call it, one warp alone.
__device__ int StartBuckets(Shared& shared) {
  int total = 0;
#pragma unroll
  for (int first = 0; first < kNumBuckets; first += 32) {
    const int size = shared.bucket_start[first + Lane()];
    const int below = SumBelow(size);
    shared.bucket_start[first + Lane()] = total + below;
    total += __shfl_sync(kAllLanes, below + size, 31);
  }
  return total;
}

// Chunks of lanes below this one in the same bucket; `in_bucket` gets those of
// all lanes.
__device__ __forceinline__ int ChunksBelow(int bucket, int num_chunks,
                                           int& in_bucket) {
  const unsigned peers = __match_any_sync(kAllLanes, bucket);
  if (!__any_sync(kAllLanes, num_chunks > 1)) {
    // Lanes without a sequence are a bucket of their own.
    in_bucket = __popc(peers);
    return __popc(peers & ((1u << Lane()) - 1));
  }
  int below = 0;
  in_bucket = 0;
#pragma unroll 8
  for (int i = 0; i < 32; ++i) {
    const int chunks = __shfl_sync(kAllLanes, num_chunks, i);
    if (((peers >> i) & 1) == 0) continue;
    in_bucket += chunks;
    if (i < Lane()) below += chunks;
  }
  return below;
}

// Turns the warps' counts of each bucket into places, and moves the buckets'
// starts on. A warp takes a bucket, a lane the count of one warp.
__device__ __forceinline__ void PlaceWarps(Shared& shared) {
  for (int bucket = Warp(); bucket < kNumBuckets; bucket += NumWarps()) {
    const int count = Lane() < NumWarps() ? shared.places[Lane()][bucket] : 0;
    const int below = SumBelow(count);
    const int start = shared.bucket_start[bucket];
    __syncwarp();
    if (Lane() < NumWarps()) shared.places[Lane()][bucket] = start + below;
    if (Lane() == 31) shared.bucket_start[bucket] = start + below + count;
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

// Counts the chunks of every bucket into bucket_start.
__device__ void FillBuckets(const ScheduleParams& p, int rung, Shared& shared) {
  for (int b = threadIdx.x; b < kNumBuckets; b += blockDim.x) {
    shared.bucket_start[b] = 0;
  }
  __syncthreads();
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
  for (int i = threadIdx.x; i < NumWarps() * kBucketStride; i += blockDim.x) {
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
  return LaunchKernel(&MakeScheduleKernel,
                      {.grid = dim3(1), .threads = threads}, stream, p);
}

cudaError_t PrepareMakeSchedule() {
  cudaFuncAttributes attributes;  // asking for them loads the kernel
  return cudaFuncGetAttributes(&attributes, &MakeScheduleKernel);
}

}  // namespace paged
