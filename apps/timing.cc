#include "apps/timing.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "apps/cuda_error.h"
#include "paged/internal/status_macros.h"

#ifdef PAGED_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

namespace paged {
namespace {

constexpr int kMinRuns = 3;
constexpr int kMaxRuns = 200;
constexpr double kBudgetUs = 50'000;

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start)
      .count();
}

using Enqueue = std::function<absl::Status()>;
using TimeOnce = std::function<absl::StatusOr<double>(const Enqueue&)>;

absl::StatusOr<double> Median(const Enqueue& enqueue,
                              const TimeOnce& time_once) {
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  for (int run = 0; run < kMaxRuns; ++run) {
    if (run >= kMinRuns && MicrosecondsSince(start) > kBudgetUs) break;
    PAGED_ASSIGN_OR_RETURN(const double time_us, time_once(enqueue));
    times.push_back(time_us);
  }
  const auto middle = times.begin() + static_cast<int64_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

#ifdef PAGED_HAS_CUDA
struct DestroyEvent {
  void operator()(CUevent_st* event) const { cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

absl::StatusOr<Event> MakeEvent() {
  cudaEvent_t event = nullptr;
  PAGED_RETURN_IF_ERROR(FromCuda(cudaEventCreate(&event), "making an event"));
  return Event(event);
}

absl::StatusOr<double> MedianOnCuda(const Enqueue& enqueue) {
  PAGED_ASSIGN_OR_RETURN(const Event begin, MakeEvent());
  PAGED_ASSIGN_OR_RETURN(const Event end, MakeEvent());
  return Median(
      enqueue, [&](const Enqueue& enqueue_once) -> absl::StatusOr<double> {
        PAGED_RETURN_IF_ERROR(
            FromCuda(cudaEventRecord(begin.get(), nullptr), "timing"));
        PAGED_RETURN_IF_ERROR(enqueue_once());
        PAGED_RETURN_IF_ERROR(
            FromCuda(cudaEventRecord(end.get(), nullptr), "timing"));
        PAGED_RETURN_IF_ERROR(
            FromCuda(cudaEventSynchronize(end.get()), "running a kernel"));
        float milliseconds = 0;
        PAGED_RETURN_IF_ERROR(FromCuda(
            cudaEventElapsedTime(&milliseconds, begin.get(), end.get()),
            "timing"));
        return 1e3 * static_cast<double>(milliseconds);
      });
}
#endif

}  // namespace

absl::StatusOr<double> MedianMicroseconds(Backend& backend,
                                          const Enqueue& enqueue) {
#ifdef PAGED_HAS_CUDA
  if (backend.profile().kind == DeviceKind::kCuda) return MedianOnCuda(enqueue);
#endif
  return Median(enqueue,
                [&](const Enqueue& enqueue_once) -> absl::StatusOr<double> {
                  const Clock::time_point start = Clock::now();
                  PAGED_RETURN_IF_ERROR(enqueue_once());
                  PAGED_RETURN_IF_ERROR(backend.Synchronize(nullptr));
                  return MicrosecondsSince(start);
                });
}

}  // namespace paged
