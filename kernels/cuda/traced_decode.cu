#include "kernels/cuda/decode_launch.cuh"
#include "kernels/cuda/traced_decode.h"

namespace paged {
namespace {

constexpr std::size_t IndexOfTraced() {
  for (std::size_t i = 0; i < kInstances.size(); ++i) {
    if (kInstances[i].element == ElementKind::kF16 &&
        kInstances[i].kind == InstanceKind::kPlain &&
        kInstances[i].max_rows == kTracedRows &&
        kInstances[i].key_dim == kTracedHeadDim &&
        kInstances[i].shape == kTracedShape) {
      return i;
    }
  }
  return kInstances.size();
}
static_assert(IndexOfTraced() < kInstances.size());
using Traced = DecodeInstance<IndexOfTraced()>;

// One thread of each CTA takes the times around its whole work.
template <typename Work>
__device__ __forceinline__ void Record(CtaRecord* records, const Work& work) {
  uint64_t begin_ns = 0;
  if (threadIdx.x == 0) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin_ns)::"memory");
  }
  work();
  __syncthreads();
  if (threadIdx.x != 0) return;
  CtaRecord& record = records[blockIdx.y * gridDim.x + blockIdx.x];
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(record.end_ns)::"memory");
  asm volatile("mov.u32 %0, %%smid;" : "=r"(record.sm));
  record.begin_ns = begin_ns;
}

__global__ void __launch_bounds__(Traced::kThreads, Traced::kMinCtas)
    TracedV1Kernel(const __grid_constant__ DecodeParams p, CtaRecord* records) {
  Record(records, [&] { V1Program<Traced>(p); });
}

__global__ void __launch_bounds__(Traced::kThreads, Traced::kMinCtas)
    TracedSplitKKernel(const __grid_constant__ DecodeParams p,
                       CtaRecord* records) {
  Record(records, [&] { SplitKProgram<Traced>(p); });
}

}  // namespace

int64_t NumTracedCtas(const DecodeParams& params) {
  return NumItems(params) * params.num_kv_heads * params.num_splits;
}

cudaError_t LaunchTraced(KernelEnding ending, const DecodeParams& params,
                         CtaRecord* records, cudaStream_t stream) {
  if (ending != KernelEnding::kOutput && ending != KernelEnding::kPartial) {
    return cudaErrorInvalidValue;
  }
  void (*kernel)(DecodeParams, CtaRecord*) =
      ending == KernelEnding::kOutput ? &TracedV1Kernel : &TracedSplitKKernel;
  const cudaError_t error = cudaFuncSetAttribute(
      reinterpret_cast<const void*>(kernel),
      cudaFuncAttributeMaxDynamicSharedMemorySize, Traced::kSharedBytes);
  if (error != cudaSuccess) return error;
  const LaunchShape shape = {.grid = GridOf(params, params.num_splits),
                             .threads = Traced::kThreads,
                             .shared_bytes = Traced::kSharedBytes};
  return LaunchKernel(kernel, shape, stream, params, records);
}

}  // namespace paged
