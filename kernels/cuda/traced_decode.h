// Kernels that note when and where each of their CTAs ran: instances of their
// own, so that the others pay nothing.
#ifndef PAGED_KERNELS_CUDA_TRACED_DECODE_H_
#define PAGED_KERNELS_CUDA_TRACED_DECODE_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/core/instance.h"
#include "kernels/core/kernel_params.h"
#include "kernels/cuda/launch.h"

namespace paged {

// Nanoseconds of the GPU's global timer, which some GPUs advance in steps of a
// microsecond.
struct CtaRecord {
  uint64_t begin_ns;
  uint64_t end_ns;
  uint32_t sm;
};

// What the traced kernels are instances of: plain, fp16, head_dim 128.
inline constexpr int kTracedHeadDim = 128;
inline constexpr int kTracedRows = kNarrowRows;
inline constexpr InstanceShape kTracedShape = {8, 2};

// CTAs of the grid, and records that it leaves: those of a split behind one
// another, each in the order (item, kv head).
int64_t NumTracedCtas(const DecodeParams& params);

// As DecodeKernel::Launch with kOutput or kPartial; any other ending is
// cudaErrorInvalidValue. `records` is device memory.
cudaError_t LaunchTraced(KernelEnding ending, const DecodeParams& params,
                         CtaRecord* records, cudaStream_t stream);

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_TRACED_DECODE_H_
