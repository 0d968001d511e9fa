// How fast this machine reads memory, in pieces of a size and in an order that
// paged decode would read them in: the ceiling of decode.
#ifndef PAGED_BENCHMARKS_CPU_READ_CEILING_H_
#define PAGED_BENCHMARKS_CPU_READ_CEILING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/sampling.h"
#include "kernels/cpu/thread_pool.h"

namespace paged::benchmarks {

// Reads every byte of the pieces [piece_bytes * i, piece_bytes * (i + 1)) of
// each pool, i in the order of `pieces`, which the threads share out evenly.
// `piece_bytes` is a multiple of 64. Pieces that come `fetch_ahead_bytes` of a
// pool later are fetched meanwhile; 0 leaves that to the processor.
void ReadPieces(ThreadPool& threads, absl::Span<const std::byte* const> pools,
                absl::Span<const int32_t> pieces, int64_t piece_bytes,
                int64_t fetch_ahead_bytes = 0);

// 0, 1, ..., count - 1; or the same shuffled.
std::vector<int32_t> InOrder(int64_t count);
std::vector<int32_t> Shuffled(int64_t count);

// Returns the seconds of a call by the wall clock.
std::function<double()> TimedByClock(std::function<void()> function);

// Seconds of each function that takes turns with the others: medians of
// `rounds` rounds, after one that does not count.
std::vector<double> TimeInTurns(
    int rounds, const std::vector<std::function<void()>>& functions);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CPU_READ_CEILING_H_
