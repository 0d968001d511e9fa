// Two results of the same rows over disjoint tokens, and the one that they
// make: the merge of online_softmax.h, of what is normalised already.
#ifndef PAGED_KERNELS_CORE_MERGE_PARAMS_H_
#define PAGED_KERNELS_CORE_MERGE_PARAMS_H_

#include <cmath>
#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// Rows are dense: [num_rows, dim], and [num_rows] natural logarithms.
struct MergeParams {
  const void* first_output = nullptr;
  const float* first_lse = nullptr;
  const void* second_output = nullptr;
  const float* second_lse = nullptr;
  void* output = nullptr;  // may be one of the inputs
  float* lse = nullptr;    // alike, or null
  int64_t num_rows = 0;
  int dim = 0;
};

// What each side's row is multiplied by, and the lse of both together.
struct MergeWeights {
  float first;
  float second;
  float lse;
};

// A side without tokens has lse minus infinity and a weight of exactly 0: its
// row is not to be read, and the other side's is the result to the bit.
PAGED_HD inline MergeWeights MergeWeightsOf(float first_lse, float second_lse) {
  if (second_lse == -INFINITY) return {1.0f, 0.0f, first_lse};
  if (first_lse == -INFINITY) return {0.0f, 1.0f, second_lse};
  const float max = fmaxf(first_lse, second_lse);
  const float first = expf(first_lse - max);
  const float second = expf(second_lse - max);
  const float sum = first + second;
  return {first / sum, second / sum, max + logf(sum)};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_MERGE_PARAMS_H_
