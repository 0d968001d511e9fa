#include "benchmarks/cpu/read_ceiling.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "benchmarks/sampling.h"

namespace paged::benchmarks {
namespace {

// A sum that is kept, so that no load is left out; one for each word of a line,
// which the compiler turns into vectors. The same lines of `next` are fetched.
uint64_t SumOf(const std::byte* from, const std::byte* next, int64_t bytes) {
  constexpr int kWords = 8;  // of a cache line
  uint64_t sums[kWords] = {};
  for (int64_t at = 0; at < bytes; at += kWords * 8) {
    if (next != nullptr) __builtin_prefetch(next + at);
    uint64_t words[kWords];
    std::memcpy(words, from + at, sizeof(words));
    for (int i = 0; i < kWords; ++i) sums[i] ^= words[i];
  }
  return std::accumulate(std::begin(sums), std::end(sums), uint64_t{0});
}

std::atomic<uint64_t> sink = 0;

}  // namespace

void ReadPieces(ThreadPool& threads, absl::Span<const std::byte* const> pools,
                absl::Span<const int32_t> pieces, int64_t piece_bytes,
                int64_t fetch_ahead_bytes) {
  const int64_t shares = threads.num_threads();
  const auto count = static_cast<int64_t>(pieces.size());
  const int64_t ahead = (fetch_ahead_bytes + piece_bytes - 1) / piece_bytes;
  const auto at = [&](const std::byte* pool, int64_t i) {
    return pool + pieces[static_cast<size_t>(i)] * piece_bytes;
  };
  threads.ParallelFor(shares, [&](int64_t share) {
    uint64_t sum = 0;
    const int64_t end = count * (share + 1) / shares;
    for (int64_t i = count * share / shares; i < end; ++i) {
      const bool has_next = ahead > 0 && i + ahead < end;
      for (const std::byte* pool : pools) {
        sum += SumOf(at(pool, i), has_next ? at(pool, i + ahead) : nullptr,
                     piece_bytes);
      }
    }
    sink += sum;
  });
}

std::vector<int32_t> InOrder(int64_t count) {
  std::vector<int32_t> pieces(static_cast<size_t>(count));
  std::iota(pieces.begin(), pieces.end(), 0);
  return pieces;
}

std::vector<int32_t> Shuffled(int64_t count) {
  std::vector<int32_t> pieces = InOrder(count);
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(1));
  return pieces;
}

std::function<double()> TimedByClock(std::function<void()> function) {
  return [function = std::move(function)] {
    const auto begin = std::chrono::steady_clock::now();
    function();
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - begin;
    return elapsed.count();
  };
}

std::vector<double> TimeInTurns(
    int rounds, const std::vector<std::function<void()>>& functions) {
  std::vector<std::function<double()>> timed;
  for (const auto& function : functions) {
    timed.push_back(TimedByClock(function));
  }
  std::vector<double> medians;
  for (std::vector<double>& runs : SampleInTurns(
           {.num_warmups = 1, .num_runs = rounds, .max_seconds = kNoLimit},
           timed)) {
    medians.push_back(MedianOf(std::move(runs)));
  }
  return medians;
}

}  // namespace paged::benchmarks
