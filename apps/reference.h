// Dense attention in float64, straight from a file's contiguous tensors: it
// shares no code with the kernels, and knows neither blocks nor splits.
#ifndef PAGED_APPS_REFERENCE_H_
#define PAGED_APPS_REFERENCE_H_

#include <vector>

#include "apps/layer.h"

namespace paged {

// What a decode step should answer.
struct Answer {
  std::vector<double> output;  // [num_seqs, num_q_heads, value_dim]
  std::vector<double> lse;     // [num_seqs, num_q_heads], natural logarithm
};

// A sequence of no tokens answers 0 and minus infinity.
Answer ComputeReference(const Layer& layer, double scale);

}  // namespace paged

#endif  // PAGED_APPS_REFERENCE_H_
