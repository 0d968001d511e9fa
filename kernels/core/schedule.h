// How the chunks of a ragged batch are made from its lengths.
//
// A chunk size is a rung of a ladder. The list takes the smallest rung at which
// the batch has at most `max_chunks` chunks; a sequence longer than the rung is
// cut into equal chunks, an empty one is a chunk without tiles, for somebody
// has to write its output. Chunks are ordered by size, the largest first, so
// that small ones fill what the large ones leave; sizes within a quarter of an
// octave count as equal and keep the order of the sequences.
//
// MakeSchedule is the specification, in one thread. The CUDA kernels
// (kernels/cuda/make_schedule.cu) do the same steps side by side and give the
// same list.
#ifndef PAGED_KERNELS_CORE_SCHEDULE_H_
#define PAGED_KERNELS_CORE_SCHEDULE_H_

#include <cstdint>

#include "kernels/core/chunk.h"
#include "kernels/core/host_device.h"
#include "kernels/core/partition.h"

namespace paged {

struct ScheduleParams {
  const int32_t* context_lens = nullptr;  // [num_seqs]
  int num_seqs = 0;
  int max_context_len = 0;  // lengths are clamped to it
  int first_rung = 0;       // the smallest chunks that may be taken
  int max_chunks = 0;       // at least num_seqs
  ScheduleView schedule;    // what is made
};

// As many as a warp has lanes.
inline constexpr int kNumRungs = 32;
// The last rung holds any sequence whole, so that one always fits.
inline constexpr int kWholeRung = kNumRungs - 1;

// Tiles of a chunk: 2, 3, 4, 6, 8, 12, ...
PAGED_HD constexpr int RungTiles(int rung) {
  return (rung % 2 == 0 ? 2 : 3) << (rung / 2);
}

// The smallest rung of at least `tiles`.
constexpr int RungOf(int tiles) {
  int rung = 0;
  while (rung < kWholeRung && RungTiles(rung) < tiles) ++rung;
  return rung;
}

// Chunks of a sequence of `num_tiles`; at least 1, and one more each time that
// a whole chunk lies before the last tile.
PAGED_HD constexpr int CountChunks(int num_tiles, int rung) {
  if (num_tiles == 0 || rung >= kWholeRung) return 1;
  const uint32_t before_last = static_cast<uint32_t>(num_tiles) - 1;
  const uint32_t whole = rung % 2 == 0 ? before_last >> (rung / 2 + 1)
                                       : before_last / 3 >> (rung / 2);
  return 1 + static_cast<int>(whole);
}

// Sizes of chunks, four to an octave; bucket 0 holds the largest.
inline constexpr int kNumBuckets = 128;

PAGED_HD inline int Log2Floor(uint32_t x) {
#if defined(__CUDA_ARCH__)
  return 31 - __clz(static_cast<int>(x));
#else
  return 31 - __builtin_clz(x);
#endif
}

PAGED_HD inline int BucketOf(int chunk_tiles) {
  const uint32_t tiles = static_cast<uint32_t>(chunk_tiles);
  if (tiles < 4) return kNumBuckets - 1 - chunk_tiles;
  const int octave = Log2Floor(tiles);
  const int quarter = static_cast<int>(tiles >> (octave - 2)) % 4;
  return kNumBuckets - 1 - (octave * 4 + quarter - 4);
}

// A sequence cut into equal chunks; the first ones have the tile more.
struct SequenceCut {
  int context_len;
  int num_chunks;
  int share;   // tiles of each chunk
  int larger;  // chunks that have one more

  // Of its largest chunk.
  PAGED_HD int chunk_tiles() const { return share + (larger > 0 ? 1 : 0); }
  // Partials that it leaves.
  PAGED_HD int num_partials() const { return num_chunks > 1 ? num_chunks : 0; }
};

PAGED_HD inline int ContextLenAt(const ScheduleParams& p, int seq) {
  return ClampContextLen(p.context_lens[seq], p.max_context_len);
}

// How a sequence is cut at a rung. Most are one chunk, and divide nothing.
PAGED_HD inline SequenceCut CutAt(int context_len, int rung) {
  const int num_tiles = NumTiles(context_len);
  const int num_chunks = CountChunks(num_tiles, rung);
  const int share = num_chunks == 1 ? num_tiles : num_tiles / num_chunks;
  return {context_len, num_chunks, share, num_tiles - share * num_chunks};
}

// Chunk `rank` of a sequence.
PAGED_HD inline Chunk ChunkOf(const SequenceCut& cut, int seq, int rank,
                              int first_partial) {
  const int first = rank * cut.share + (rank < cut.larger ? rank : cut.larger);
  return {.seq = seq,
          .context_len = cut.context_len,
          .first_tile = first,
          .last_tile = first + cut.share + (rank < cut.larger ? 1 : 0),
          .first_partial = first_partial,
          .rank = rank,
          .num_chunks = cut.num_chunks,
          .unused = 0};
}

// The smallest rung at which the batch fits.
inline int ChooseRung(const ScheduleParams& p) {
  for (int rung = p.first_rung; rung < kWholeRung; ++rung) {
    int64_t num_chunks = 0;
    for (int seq = 0; seq < p.num_seqs; ++seq) {
      num_chunks += CountChunks(NumTiles(ContextLenAt(p, seq)), rung);
    }
    if (num_chunks <= p.max_chunks) return rung;
  }
  return kWholeRung;
}

inline void MakeSchedule(const ScheduleParams& p) {
  const int rung = ChooseRung(p);
  int32_t next_place[kNumBuckets + 1] = {};
  for (int seq = 0; seq < p.num_seqs; ++seq) {
    const SequenceCut cut = CutAt(ContextLenAt(p, seq), rung);
    next_place[BucketOf(cut.chunk_tiles()) + 1] += cut.num_chunks;
  }
  for (int b = 0; b < kNumBuckets; ++b) next_place[b + 1] += next_place[b];
  const int32_t num_chunks = next_place[kNumBuckets];

  int32_t num_partials = 0;
  for (int seq = 0; seq < p.num_seqs; ++seq) {
    const SequenceCut cut = CutAt(ContextLenAt(p, seq), rung);
    int32_t& place = next_place[BucketOf(cut.chunk_tiles())];
    for (int rank = 0; rank < cut.num_chunks; ++rank) {
      p.schedule.chunks[place++] = ChunkOf(cut, seq, rank, num_partials);
    }
    num_partials += cut.num_partials();
  }
  *p.schedule.header = {.num_chunks = num_chunks,
                        .num_partials = num_partials,
                        .rung = rung,
                        .unused = 0};
}

// Partials that a schedule of at most `max_extra_chunks` chunks beyond one per
// sequence can leave: a sequence of n > 1 chunks has n - 1 >= n / 2 extra ones.
constexpr int64_t MaxPartials(int max_extra_chunks) {
  return 2 * int64_t{max_extra_chunks};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_SCHEDULE_H_
