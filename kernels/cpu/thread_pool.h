// A few threads that share out the iterations of a loop.
#ifndef PAGED_KERNELS_CPU_THREAD_POOL_H_
#define PAGED_KERNELS_CPU_THREAD_POOL_H_

#include <cstdint>
#include <memory>

namespace paged {

// Between loops the threads wait awake for a moment, as the next loop of a
// decode step comes within microseconds, and then sleep.
class ThreadPool {
 public:
  // The calling thread of ParallelFor is one of the `num_threads`.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;

  // Calls body(i) for every i in [0, count), in any order and on any thread,
  // and returns when all have returned. Callers on several threads take turns.
  // Does not allocate.
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
