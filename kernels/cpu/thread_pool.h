// A few threads that share out the iterations of a loop: its own, or those of
// an executor of the caller's.
#ifndef PAGED_KERNELS_CPU_THREAD_POOL_H_
#define PAGED_KERNELS_CPU_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace paged {

// Between loops the threads wait awake for a moment, as the next loop of a
// decode step comes within microseconds, and then sleep.
class ThreadPool {
 public:
  // Calls body(i) for every i in [0, count), as ParallelFor does.
  using Executor = std::function<void(
      int64_t count, const std::function<void(int64_t)>& body)>;

  // The calling thread of ParallelFor is one of the `num_threads`. With an
  // executor there are no threads of the pool's own: loops are handed to it,
  // and what it throws goes to their callers.
  explicit ThreadPool(int num_threads, Executor executor = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  // Calls body(i) for every i in [0, count), in any order and on any thread,
  // and returns when all have returned. Callers on several threads take turns,
  // but for an executor, which is called by all at once. Does not allocate.
  template <typename Body>
  void ParallelFor(int64_t count, const Body& body) {
    Run(count, {&body, [](const void* b, int64_t i) {
                  (*static_cast<const Body*>(b))(i);
                }});
  }

 private:
  struct State;
  struct Loop {
    const void* body = nullptr;
    void (*call)(const void* body, int64_t i) = nullptr;
  };
  void Run(int64_t count, Loop loop);

  std::unique_ptr<State> state_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_THREAD_POOL_H_
