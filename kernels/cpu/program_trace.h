// Who ran which program when, for tracers. Nobody observes unless asked to, and
// then a program costs one load more.
#ifndef PAGED_KERNELS_CPU_PROGRAM_TRACE_H_
#define PAGED_KERNELS_CPU_PROGRAM_TRACE_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace paged {

enum class ProgramKind : uint8_t { kAttend, kReduce };

// A program's turn on the thread that reports it.
struct ProgramSlice {
  ProgramKind kind = ProgramKind::kAttend;
  int seq = 0;
  int64_t partial = 0;  // that it leaves, or is the first that it merges
  int first_kv_head = 0;
  int num_kv_heads = 1;
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
};

class ProgramObserver {
 public:
  virtual ~ProgramObserver() = default;
  // On any thread, several at once.
  virtual void Observe(const ProgramSlice& slice) = 0;
};

// Of this process; null for none. Change it between runs alone.
inline std::atomic<ProgramObserver*> program_observer = nullptr;

// Made when a program starts; Report says that it has ended.
class ProgramTimer {
 public:
  ProgramTimer() : observer_(program_observer.load(std::memory_order_acquire)) {
    if (observer_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }

  void Report(ProgramKind kind, int seq, int64_t partial, int first_kv_head,
              int num_kv_heads) const {
    if (observer_ == nullptr) return;
    observer_->Observe({kind, seq, partial, first_kv_head, num_kv_heads, begin_,
                        std::chrono::steady_clock::now()});
  }

 private:
  ProgramObserver* observer_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_PROGRAM_TRACE_H_
