// Decode with the vector kernels: the runs of decode_kernels.h, on the same
// plans.
#ifndef PAGED_KERNELS_CPU_SIMD_DECODE_H_
#define PAGED_KERNELS_CPU_SIMD_DECODE_H_

#include <cstdint>

#include "kernels/core/kernel_params.h"
#include "kernels/cpu/decode_kernels.h"
#include "kernels/cpu/simd_kernels.h"
#include "kernels/cpu/thread_pool.h"

namespace paged {

// How many kv heads of an item a thread takes at once: all of them where that
// keeps the threads busy, since a block of all heads is one piece of memory;
// no more than a share of them otherwise. No result depends on it.
int HeadsPerProgram(int64_t num_items, int num_kv_heads, int num_threads);

void RunSimdV1(const SimdKernels& kernels, DecodeElements elements,
               const DecodeParams& params, ThreadPool& pool);
void RunSimdSplitK(const SimdKernels& kernels, DecodeElements elements,
                   const DecodeParams& params, ThreadPool& pool);
void RunSimdReduceSplits(const SimdKernels& kernels, DecodeElements elements,
                         const DecodeParams& params, ThreadPool& pool);
void RunSimdChunks(const SimdKernels& kernels, DecodeElements elements,
                   const DecodeParams& params, ThreadPool& pool);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_SIMD_DECODE_H_
