// The half of LaunchAppendKv whose rows are converted on their way.
#ifndef PAGED_KERNELS_CUDA_APPEND_CODES_H_
#define PAGED_KERNELS_CUDA_APPEND_CODES_H_

#include <cuda_runtime_api.h>

#include "kernels/core/append_params.h"

namespace paged {

cudaError_t LaunchAppendCodes(const AppendParams& params, cudaStream_t stream);

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_APPEND_CODES_H_
