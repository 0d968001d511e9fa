// A few threads that share out the iterations of a loop.
#ifndef PAGED_KERNELS_CPU_THREAD_POOL_H_
#define PAGED_KERNELS_CPU_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>

namespace paged {

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
  void ParallelFor(int64_t count, const std::function<void(int64_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_THREAD_POOL_H_
