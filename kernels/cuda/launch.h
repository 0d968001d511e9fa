// The CUDA kernels, seen from C++: launchers that enqueue on a stream of the
// current device and return what CUDA says. None allocates or synchronises.
#ifndef PAGED_KERNELS_CUDA_LAUNCH_H_
#define PAGED_KERNELS_CUDA_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/append_params.h"
#include "kernels/core/copy_params.h"
#include "kernels/core/dtype.h"
#include "kernels/core/instance.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/merge_params.h"
#include "kernels/core/schedule.h"
#include "kernels/core/table_check.h"
#include "kernels/core/table_fill.h"
#include "kernels/core/table_params.h"

namespace paged {

// The kernels of an instance: one loop, an ending for each way to go on.
enum class KernelEnding : uint8_t {
  kOutput,   // v1
  kPartial,  // split_k; LaunchReduceSplits comes after it
  kCluster,  // split_k, merged by a cluster: sm_90 and up
  kLastCta,  // split_k, merged by the last CTA to arrive
  kChunks,   // the chunks of a schedule, merged likewise
};
inline constexpr int kNumKernelEndings = 5;

// One compiled instance.
struct DecodeKernel {
  using Launcher = cudaError_t (*)(const DecodeParams&, bool starts_early,
                                   cudaStream_t);

  InstanceConfig config;
  std::array<Launcher, kNumKernelEndings> launchers;
  std::array<const void*, kNumKernelEndings> functions;

  // With `starts_early` the grid is launched while the one before it runs, and
  // waits for its end before it touches memory (sm_90 and up; nothing changes
  // below).
  cudaError_t Launch(KernelEnding ending, const DecodeParams& params,
                     bool starts_early, cudaStream_t stream) const {
    return launchers[static_cast<std::size_t>(ending)](params, starts_early,
                                                       stream);
  }
};

// One for each of kInstances.
std::span<const DecodeKernel> DecodeKernels();

// Null when there is no such instance.
const DecodeKernel* FindDecodeKernel(const InstanceConfig& config);

// Loads the kernels on the current device and raises their shared memory
// limit, once per (kernel, device) and before the first launch.
cudaError_t PrepareDecodeKernel(const DecodeKernel& kernel);

// The second pass: partials to output and lse.
cudaError_t LaunchReduceSplits(const DecodeParams& params, cudaStream_t stream);
cudaError_t PrepareReduceSplits(const DecodeParams& params);

// Makes the list of chunks that decode kernels of the same lengths read;
// cudaErrorInvalidValue for more than 2^26 chunks beyond one per sequence.
cudaError_t LaunchMakeSchedule(const ScheduleParams& params,
                               cudaStream_t stream);
cudaError_t PrepareMakeSchedule();

// Merges two results whose elements are of one kind: fp16, bf16 or fp32.
cudaError_t LaunchMerge(ElementKind element, const MergeParams& params,
                        cudaStream_t stream);

// What LaunchCheckTables leaves in device memory.
struct TableCheckResult {
  uint32_t first;    // sequence with a fault; its own
  TableFault fault;  // the first, in the order of sequences
};
cudaError_t LaunchCheckTables(const DecodeParams& params, int64_t num_blocks,
                              TableCheckResult* result, cudaStream_t stream);

cudaError_t LaunchAppendKv(const AppendParams& params, cudaStream_t stream);
// One launch for up to some thousand moves that do not meet, and one for up to
// some hundred that do.
cudaError_t LaunchCopyBlocks(const CopyList& list, cudaStream_t stream);

// Scatters into the table [max_seqs, width], and gathers a batch's from it.
cudaError_t LaunchTableUpdate(const TableUpdateParams& params,
                              cudaStream_t stream);
cudaError_t LaunchBatchTable(const BatchTableParams& params,
                             cudaStream_t stream);

// A batch's table from CSR or from lists of blocks.
cudaError_t LaunchFillTable(const TableFillParams& params, cudaStream_t stream);

// Reads what a decode of `params` by that instance reads and computes nothing:
// the ceiling that decode is measured against. `sink` takes a value that
// depends on every byte. cudaErrorInvalidValue for an instance without a ring.
cudaError_t LaunchGather(const InstanceConfig& config,
                         const DecodeParams& params, bool starts_early,
                         uint32_t* sink, cudaStream_t stream);

// Fills `count` elements with values uniform in [-2, 2) that depend on seed and
// index alone; HashElement (kernels/core/hash.h) says which.
cudaError_t LaunchFill(ElementKind element, void* data, int64_t count,
                       uint32_t seed, cudaStream_t stream);

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_LAUNCH_H_
