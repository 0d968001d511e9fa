// The schedule of a ragged batch: a list of chunks, each some neighbouring
// tiles of one sequence. One list serves every layer of a decode step.
#ifndef PAGED_KERNELS_CORE_CHUNK_H_
#define PAGED_KERNELS_CORE_CHUNK_H_

#include <cstdint>
#include <type_traits>

namespace paged {

// Two loads of 16 bytes, and nothing else of the sequence is needed to start.
struct alignas(16) Chunk {
  int32_t seq;
  int32_t context_len;  // of the sequence, when the list was made
  int32_t first_tile;   // tiles [first_tile, last_tile)
  int32_t last_tile;
  // A sequence of several chunks leaves its partials side by side, the chunk
  // `rank` in first_partial + rank. One of a single chunk leaves none.
  int32_t first_partial;
  int32_t rank;
  int32_t num_chunks;  // of the sequence
  int32_t unused;
  friend constexpr bool operator==(const Chunk&, const Chunk&) = default;
};
static_assert(sizeof(Chunk) == 32);

struct alignas(16) ScheduleHeader {
  int32_t num_chunks;
  int32_t num_partials;  // that chunks of the list leave
  int32_t rung;          // of the ladder of chunk sizes
  int32_t unused;
  friend constexpr bool operator==(const ScheduleHeader&,
                                   const ScheduleHeader&) = default;
};

// Where a schedule lies: the header, and behind it the chunks, the largest
// first.
struct ScheduleView {
  ScheduleHeader* header = nullptr;
  Chunk* chunks = nullptr;  // [max_chunks]
};
static_assert(std::is_trivially_copyable_v<ScheduleView>);

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_CHUNK_H_
