// Decode on the CPU: the executable specification of the CUDA kernels. The
// same work items, the same softmax algebra, one scalar at a time.
#ifndef PAGED_KERNELS_CPU_DECODE_KERNELS_H_
#define PAGED_KERNELS_CPU_DECODE_KERNELS_H_

#include <cstdint>
#include <vector>

#include "kernels/core/dtype.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/cpu/thread_pool.h"

namespace paged {

// Storage of the query and the output, and of the cache.
struct DecodeElements {
  ElementKind query;
  ElementKind kv;
};

// Whole contexts, straight to the output: params.num_splits is 1.
void RunV1(DecodeElements elements, const DecodeParams& params,
           ThreadPool& pool);

// The partition pass (partials), and the second pass (output).
void RunSplitK(DecodeElements elements, const DecodeParams& params,
               ThreadPool& pool);
void RunReduceSplits(DecodeElements elements, const DecodeParams& params,
                     ThreadPool& pool);

// Merges the partials of one row in split order, all relative to the largest
// maximum, so that no sum is rescaled twice; leaves [value_dim] in `values`.
// `first` is the row's place in its first partial, `stride` the distance to the
// next one, in rows.
SoftmaxState ReduceRow(const DecodeParams& params, int64_t first,
                       int64_t stride, std::vector<float>& values);

// Three plain loops in float64, without tiles, splits or online softmax.
void RunReference(DecodeElements elements, const DecodeParams& params);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_DECODE_KERNELS_H_
