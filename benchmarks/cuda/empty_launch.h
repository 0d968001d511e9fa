// What the runtime's launch call costs without anything of ours.
#ifndef PAGED_BENCHMARKS_CUDA_EMPTY_LAUNCH_H_
#define PAGED_BENCHMARKS_CUDA_EMPTY_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "kernels/core/kernel_params.h"

namespace paged::benchmarks {

// Enqueues a kernel of one CTA that does nothing, with the argument of a decode
// kernel, allowed to start early as small ones are.
cudaError_t LaunchEmpty(const DecodeParams& params, cudaStream_t stream);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_CUDA_EMPTY_LAUNCH_H_
