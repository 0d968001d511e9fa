#include "kernels/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace paged {

// A loop is announced by a new `generation`. Workers take indices from `next`
// until none is left; `busy` counts those that may still be inside the loop,
// so that `body` outlives every use of it.
struct ThreadPool::State {
  std::mutex turn;  // held by the caller whose loop is running

  std::mutex mutex;  // guards what follows, but for `next`
  std::condition_variable started;
  std::condition_variable finished;
  int64_t generation = 0;
  int busy = 0;
  bool is_stopping = false;
  int64_t count = 0;
  const std::function<void(int64_t)>* body = nullptr;

  std::atomic<int64_t> next{0};
  std::vector<std::thread> workers;

  void RunShare(int64_t loop_count,
                const std::function<void(int64_t)>& loop_body) {
    for (int64_t i = next.fetch_add(1); i < loop_count; i = next.fetch_add(1)) {
      loop_body(i);
    }
  }

  void WorkerLoop() {
    std::unique_lock<std::mutex> lock(mutex);
    int64_t seen = 0;
    while (true) {
      started.wait(lock, [&] { return is_stopping || generation != seen; });
      if (is_stopping) return;
      seen = generation;
      const int64_t loop_count = count;
      const std::function<void(int64_t)>& loop_body = *body;
      lock.unlock();
      RunShare(loop_count, loop_body);
      lock.lock();
      if (--busy == 0) finished.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  const int num_workers = std::max(num_threads, 1) - 1;
  state_->workers.reserve(static_cast<std::size_t>(num_workers));
  for (int i = 0; i < num_workers; ++i) {
    // A system that is out of threads serves with those it gave.
    try {
      state_->workers.emplace_back([s = state_.get()] { s->WorkerLoop(); });
    } catch (const std::system_error&) {
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->is_stopping = true;
  }
  state_->started.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::num_threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::ParallelFor(int64_t count,
                             const std::function<void(int64_t)>& body) {
  if (count <= 0) return;
  State& s = *state_;
  std::lock_guard<std::mutex> turn(s.turn);
  // Waking the workers for a single index costs more than it saves.
  if (s.workers.empty() || count == 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.count = count;
    s.body = &body;
    s.next.store(0);
    s.busy = static_cast<int>(s.workers.size());
    ++s.generation;
  }
  s.started.notify_all();
  s.RunShare(count, body);
  std::unique_lock<std::mutex> lock(s.mutex);
  s.finished.wait(lock, [&] { return s.busy == 0; });
}

}  // namespace paged
