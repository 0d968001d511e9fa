// Decode on the CPU: the executable specification of the CUDA kernels. The
// same work items, the same softmax algebra, one scalar at a time.
#ifndef PAGED_KERNELS_CPU_DECODE_KERNELS_H_
#define PAGED_KERNELS_CPU_DECODE_KERNELS_H_

#include <cstdint>
#include <vector>

#include "kernels/core/dtype.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/core/score_rules.h"
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

// The chunks of params.schedule, and the merge of the sequences that it cuts.
void RunChunks(DecodeElements elements, const DecodeParams& params,
               ThreadPool& pool);

// What the unnormalised values of a row that is not empty are divided by: the
// sum of its weights and, where there is one, that of the sink. To multiply
// them by RowEnd's factor would round the quotient of the whole row first.
float DivisorOf(const ScoreRules& rules, SoftmaxState state, int q_head);

// Merges row `row_in_item` of the partials `parts` in their order, all relative
// to the largest maximum, so that no sum is rescaled twice; leaves [value_dim]
// in `values`, as many times too large or small as the sum is by its rounding.
SoftmaxState ReduceRow(const DecodeParams& params, PartialRange parts,
                       int kv_head, int row_in_item,
                       std::vector<float>& values);

// Three plain loops in float64, without tiles, splits or online softmax.
void RunReference(DecodeElements elements, const DecodeParams& params);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_DECODE_KERNELS_H_
