// Makes a schedule: the steps of kernels/core/schedule.h, side by side, in the
// kernel that is fastest for so many sequences.
//
// Integers only, so that no order of arrival shows in the list.
#include <climits>

#include "kernels/core/schedule.h"
#include "kernels/cuda/large_schedule.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/small_schedule.cuh"

namespace paged {
namespace {

struct ScheduleKernel {
  void (*function)(ScheduleParams);
  int threads;
  int max_seqs;
};

template <int kSeqs, int kThreads>
constexpr ScheduleKernel Small() {
  return {&SmallScheduleKernel<kSeqs, kThreads>, kThreads, kSeqs};
}

template <int kWarps, int kRows>
constexpr ScheduleKernel Held() {
  return {&LargeScheduleKernel<kWarps, kRows, true>, kWarps * 32,
          kWarps * 32 * kRows};
}

template <int kWarps, int kRows>
constexpr ScheduleKernel Streamed() {
  return {&LargeScheduleKernel<kWarps, kRows, false>, kWarps * 32, INT_MAX};
}

// The first that takes the batch. Each shape was the fastest of several on an
// H200 (kernels/README.md).
constexpr ScheduleKernel kKernels[] = {Small<64, 512>(), Held<8, 1>(),
                                       Held<16, 2>(), Streamed<32, 2>()};

}  // namespace

cudaError_t LaunchMakeSchedule(const ScheduleParams& p, cudaStream_t stream) {
  if (p.max_chunks - p.num_seqs > kMaxExtraRoom) return cudaErrorInvalidValue;
  const ScheduleKernel* kernel = kKernels;
  while (kernel->max_seqs < p.num_seqs) ++kernel;
  return LaunchKernel(
      kernel->function,
      {.grid = dim3(1), .threads = kernel->threads, .starts_early = true},
      stream, p);
}

cudaError_t PrepareMakeSchedule() {
  for (const ScheduleKernel& kernel : kKernels) {
    cudaFuncAttributes attributes;  // asking for them loads the kernel
    const cudaError_t error =
        cudaFuncGetAttributes(&attributes, kernel.function);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace paged
