// The CUDA kernels, seen from C++: launchers that enqueue on a stream of the
// current device and return what CUDA says. None allocates or synchronises.
#ifndef PAGED_KERNELS_CUDA_LAUNCH_H_
#define PAGED_KERNELS_CUDA_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "kernels/core/append_params.h"
#include "kernels/core/dtype.h"
#include "kernels/core/instance.h"
#include "kernels/core/kernel_params.h"

namespace paged {

// One compiled instance. The cache, the query and the output share its dtype.
struct DecodeKernel {
  InstanceConfig config;
  cudaError_t (*launch_v1)(const DecodeParams&, cudaStream_t);
  cudaError_t (*launch_split_k)(const DecodeParams&, cudaStream_t);
  const void* v1_function;
  const void* split_k_function;
};

// All of them, in the order of kInstances.
std::span<const DecodeKernel> DecodeKernels();

// Null when there is no such instance.
const DecodeKernel* FindDecodeKernel(ElementKind element, int head_dim,
                                     InstanceShape shape);

// Loads the kernels on the current device and raises their shared memory
// limit, once per (kernel, device) and before the first launch.
cudaError_t PrepareDecodeKernel(const DecodeKernel& kernel);

// The second pass: partials to output and lse.
cudaError_t LaunchReduceSplits(ElementKind output, const DecodeParams& params,
                               cudaStream_t stream);
cudaError_t PrepareReduceSplits(ElementKind output);

cudaError_t LaunchAppendKv(const AppendParams& params, cudaStream_t stream);

// Reads what a decode of `params` reads and computes nothing: the ceiling that
// decode is measured against. `sink` takes a value that depends on every byte.
cudaError_t LaunchGather(int head_dim, InstanceShape shape,
                         const DecodeParams& params, uint32_t* sink,
                         cudaStream_t stream);

// Fills `count` 16-bit elements with values uniform in [-2, 2) that depend on
// seed and index alone; HashUniform (kernels/core/hash.h) says which.
cudaError_t LaunchFill(ElementKind element, void* data, int64_t count,
                       uint32_t seed, cudaStream_t stream);

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_LAUNCH_H_
