#include <algorithm>
#include <functional>
#include <vector>

#include "kernels/cuda/registry.h"

namespace paged {
namespace {

template <InstanceKind kKind, int kMaxRows, ElementKind... kElements>
void Append(std::vector<DecodeKernel>& kernels) {
  for (auto part : {KernelsOf<kElements, kKind, kMaxRows>()...}) {
    kernels.insert(kernels.end(), part.begin(), part.end());
  }
}

template <InstanceKind kKind, int kMaxRows>
void AppendSmall(std::vector<DecodeKernel>& kernels) {
  Append<kKind, kMaxRows, ElementKind::kF16, ElementKind::kBF16,
         ElementKind::kE4M3, ElementKind::kE5M2, ElementKind::kInt8>(kernels);
}

std::vector<DecodeKernel> AllFamilies() {
  std::vector<DecodeKernel> kernels;
  kernels.reserve(kInstances.size());
  AppendSmall<InstanceKind::kPlain, kNarrowRows>(kernels);
  AppendSmall<InstanceKind::kPlain, kMmaRows>(kernels);
  AppendSmall<InstanceKind::kGeneral, kNarrowRows>(kernels);
  AppendSmall<InstanceKind::kGeneral, kMmaRows>(kernels);
  AppendSmall<InstanceKind::kGeneral, kWideRows>(kernels);
  AppendSmall<InstanceKind::kCudaCores, kNarrowRows>(kernels);
  Append<InstanceKind::kCudaCores, kNarrowRows, ElementKind::kF32>(kernels);
  return kernels;
}

// In kInstances.
std::size_t PlaceOf(const InstanceConfig& config) {
  return static_cast<std::size_t>(
      std::find(kInstances.begin(), kInstances.end(), config) -
      kInstances.begin());
}

}  // namespace

std::span<const DecodeKernel> DecodeKernels() {
  static const std::vector<DecodeKernel> all = [] {
    std::vector<DecodeKernel> kernels = AllFamilies();
    std::sort(kernels.begin(), kernels.end(),
              [](const DecodeKernel& a, const DecodeKernel& b) {
                return PlaceOf(a.config) < PlaceOf(b.config);
              });
    return kernels;
  }();
  return all;
}

const DecodeKernel* FindDecodeKernel(const InstanceConfig& config) {
  const auto kernels = DecodeKernels();
  // An entry of the table, as a rule: nothing to search for.
  const std::less<const InstanceConfig*> before;
  const InstanceConfig* first = kInstances.data();
  const bool is_entry =
      !before(&config, first) && before(&config, first + kInstances.size());
  const std::size_t place =
      is_entry ? static_cast<std::size_t>(&config - first) : PlaceOf(config);
  return place == kInstances.size() ? nullptr : &kernels[place];
}

cudaError_t PrepareDecodeKernel(const DecodeKernel& kernel) {
  for (const void* function : kernel.functions) {
    const cudaError_t error = cudaFuncSetAttribute(
        function, cudaFuncAttributeMaxDynamicSharedMemorySize,
        kernel.config.shared_bytes());
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace paged
