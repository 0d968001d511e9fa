// One function per dtype: its compiled instances, in the order of kInstances.
#ifndef PAGED_KERNELS_CUDA_REGISTRY_H_
#define PAGED_KERNELS_CUDA_REGISTRY_H_

#include <span>

#include "kernels/cuda/launch.h"

namespace paged {

std::span<const DecodeKernel> DecodeKernelsF16();
std::span<const DecodeKernel> DecodeKernelsBF16();

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_REGISTRY_H_
