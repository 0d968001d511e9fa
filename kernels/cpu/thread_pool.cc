#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace paged {
namespace {

// Longer than the gap between the passes of one run, or the layers of one step;
// short enough to leave the core to others when the engine rests.
constexpr std::chrono::microseconds kAwake{50};

void Relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `is_done` came true while waiting awake.
template <typename IsDone>
bool WaitAwake(const IsDone& is_done) {
  constexpr int kChecksPerClock = 64;
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kChecksPerClock; ++i) {
      if (is_done()) return true;
      Relax();
    }
  } while (std::chrono::steady_clock::now() - begin < kAwake);
  return is_done();
}

}  // namespace

// A loop is announced by a new `generation`, and open until its caller finds no
// index left. Workers that come in time join it and take indices from `next`; a
// worker that the system did not let run comes too late, and nobody waits for
// it. `body` outlives every use of it, as the caller leaves after the last of
// those that joined.
struct ThreadPool::State {
  Executor executor;  // or null
  int num_threads = 1;

  std::mutex turn;  // held by the caller whose loop is running

  // Guards what follows. What is atomic is changed under it too, so that a
  // thread that sleeps misses nothing, and read without it by one awake.
  std::mutex mutex;
  std::condition_variable started;
  std::condition_variable finished;
  std::atomic<int64_t> generation{0};
  std::atomic<int> num_joined{0};
  std::atomic<bool> is_stopping{false};
  bool is_open = false;
  int64_t count = 0;
  Loop loop;

  // On a line of its own: every index that is taken writes to it.
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::vector<std::thread> workers;

  void RunShare() {
    for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      loop.call(loop.body, i);
    }
  }

  bool Join() {
    std::lock_guard<std::mutex> lock(mutex);
    if (is_open) num_joined.fetch_add(1, std::memory_order_relaxed);
    return is_open;
  }

  void Leave() {
    std::lock_guard<std::mutex> lock(mutex);
    if (num_joined.fetch_sub(1, std::memory_order_release) == 1 && !is_open) {
      finished.notify_one();
    }
  }

  void WorkerLoop() {
    int64_t seen = 0;
    const auto is_called = [&] {
      return generation.load(std::memory_order_acquire) != seen ||
             is_stopping.load(std::memory_order_acquire);
    };
    while (true) {
      if (!WaitAwake(is_called)) {
        std::unique_lock<std::mutex> lock(mutex);
        started.wait(lock, is_called);
      }
      if (is_stopping.load(std::memory_order_acquire)) return;
      seen = generation.load(std::memory_order_acquire);
      if (!Join()) continue;
      RunShare();
      Leave();
    }
  }
};

ThreadPool::ThreadPool(int num_threads, Executor executor)
    : state_(std::make_unique<State>()) {
  state_->num_threads = std::max(num_threads, 1);
  if (executor != nullptr) {
    state_->executor = std::move(executor);
    return;
  }
  const int num_workers = state_->num_threads - 1;
  state_->workers.reserve(static_cast<std::size_t>(num_workers));
  for (int i = 0; i < num_workers; ++i) {
    // A system that is out of threads serves with those it gave.
    try {
      state_->workers.emplace_back([s = state_.get()] { s->WorkerLoop(); });
    } catch (const std::system_error&) {
      break;
    }
  }
  state_->num_threads = static_cast<int>(state_->workers.size()) + 1;
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->is_stopping = true;
  }
  state_->started.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::num_threads() const { return state_->num_threads; }

void ThreadPool::Run(int64_t count, Loop loop) {
  if (count <= 0) return;
  State& s = *state_;
  // Waking the workers for a single index costs more than it saves.
  if (count == 1) return loop.call(loop.body, 0);
  if (s.executor != nullptr) {
    const auto body = [loop](int64_t i) { loop.call(loop.body, i); };
    // A reference is what a function holds without allocating.
    return s.executor(count, std::ref(body));
  }
  std::lock_guard<std::mutex> turn(s.turn);
  if (s.workers.empty()) {
    for (int64_t i = 0; i < count; ++i) loop.call(loop.body, i);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.count = count;
    s.loop = loop;
    s.next.store(0);
    s.is_open = true;
    s.generation.fetch_add(1, std::memory_order_release);
  }
  s.started.notify_all();
  s.RunShare();
  const auto is_done = [&] {
    return s.num_joined.load(std::memory_order_acquire) == 0;
  };
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.is_open = false;
    if (is_done()) return;
  }
  if (WaitAwake(is_done)) return;
  std::unique_lock<std::mutex> lock(s.mutex);
  s.finished.wait(lock, is_done);
}

}  // namespace paged
