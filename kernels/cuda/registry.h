// One function per file of instances: those that it compiles.
#ifndef PAGED_KERNELS_CUDA_REGISTRY_H_
#define PAGED_KERNELS_CUDA_REGISTRY_H_

#include <span>

#include "kernels/cuda/launch.h"

namespace paged {

std::span<const DecodeKernel> PlainKernelsF16();
std::span<const DecodeKernel> PlainKernelsBF16();
std::span<const DecodeKernel> PlainKernelsE4M3();
std::span<const DecodeKernel> PlainKernelsE5M2();
std::span<const DecodeKernel> PlainKernelsInt8();
std::span<const DecodeKernel> GeneralKernelsF16();
std::span<const DecodeKernel> GeneralKernelsBF16();
std::span<const DecodeKernel> GeneralKernelsE4M3();
std::span<const DecodeKernel> GeneralKernelsE5M2();
std::span<const DecodeKernel> GeneralKernelsInt8();
std::span<const DecodeKernel> WideKernelsF16();
std::span<const DecodeKernel> WideKernelsBF16();
std::span<const DecodeKernel> CoreKernels();

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_REGISTRY_H_
