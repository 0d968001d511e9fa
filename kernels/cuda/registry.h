// The compiled instances, family by family: each has a file of its own, made of
// instances.cu.in.
#ifndef PAGED_KERNELS_CUDA_REGISTRY_H_
#define PAGED_KERNELS_CUDA_REGISTRY_H_

#include <span>

#include "kernels/core/instance.h"
#include "kernels/cuda/launch.h"

namespace paged {

// In the order of kInstances.
template <ElementKind kElement, InstanceKind kKind, int kMaxRows>
std::span<const DecodeKernel> KernelsOf();

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_REGISTRY_H_
