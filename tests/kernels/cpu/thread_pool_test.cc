#include "kernels/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

namespace paged {
namespace {

TEST(ThreadPoolTest, CallsEveryIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      pool.ParallelFor(
          count, [&](int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
      for (const std::atomic<int>& n : calls) EXPECT_EQ(n, 1);
    }
  }
}

TEST(ThreadPoolTest, ServesAtLeastOneThread) {
  EXPECT_EQ(ThreadPool(0).num_threads(), 1);
  EXPECT_EQ(ThreadPool(-5).num_threads(), 1);
}

TEST(ThreadPoolTest, ANegativeCountCallsNothing) {
  ThreadPool pool(2);
  pool.ParallelFor(-1, [](int64_t) { FAIL(); });
}

// Loops that follow one another at once: a late worker of one may not take an
// index of the next with the wrong body.
TEST(ThreadPoolTest, ShortLoopsDoNotMix) {
  ThreadPool pool(4);
  for (int round = 0; round < 5000; ++round) {
    std::atomic<int> sum = 0;
    pool.ParallelFor(
        3, [&sum, round](int64_t i) { sum += round + static_cast<int>(i); });
    ASSERT_EQ(sum, 3 * round + 3);
  }
}

TEST(ThreadPoolTest, CallersTakeTurns) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4, 0);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&pool, &sums, c] {
      for (int round = 0; round < 500; ++round) {
        std::atomic<int64_t> sum = 0;
        pool.ParallelFor(10, [&](int64_t i) { sum += i; });
        sums[c] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int64_t sum : sums) EXPECT_EQ(sum, 500 * 45);
}

TEST(ThreadPoolTest, WhatTheBodyWroteIsSeenByTheCaller) {
  ThreadPool pool(4);
  std::vector<int> plain(10'000, 0);
  pool.ParallelFor(10'000, [&](int64_t i) {
    plain[static_cast<std::size_t>(i)] = static_cast<int>(i);
  });
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(plain[static_cast<std::size_t>(i)], i);
  }
}

// Awake for a moment, as the next loop may come, and then out of the way.
TEST(ThreadPoolTest, ThreadsOfAnIdlePoolSleep) {
  ThreadPool pool(4);
  pool.ParallelFor(100, [](int64_t) {});
  constexpr std::chrono::milliseconds kIdle{400};
  const std::clock_t before = std::clock();  // of the process's processor time
  std::this_thread::sleep_for(kIdle);
  const double seconds =
      static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 0.05);
  // And wake up again.
  std::atomic<int> num_calls = 0;
  pool.ParallelFor(100, [&](int64_t) { ++num_calls; });
  EXPECT_EQ(num_calls, 100);
}

}  // namespace
}  // namespace paged
