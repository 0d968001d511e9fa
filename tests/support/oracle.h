// What a decode step should compute, in float64, from the contiguous logical
// keys and values: no blocks, no tiles, no splits, no online softmax, and no
// code shared with the kernels. And how far a right implementation may be off.
#ifndef PAGED_TESTS_SUPPORT_ORACLE_H_
#define PAGED_TESTS_SUPPORT_ORACLE_H_

#include <vector>

#include "tests/support/problem.h"

namespace paged::testing {

// How the weights of the values are stored while they are multiplied: as
// float32, in the storage type, which is what tensor cores read, or as 16-bit
// integers, to which dot products of int8 caches round queries as well.
enum class WeightStorage { kFloat, kElement, kInteger };

// NaN where the exact result is NaN.
struct Oracle {
  std::vector<double> output;        // [query tokens, num_q_heads, value_dim]
  std::vector<double> output_bound;  // alike; largest absolute error
  std::vector<double> lse;           // [query tokens, num_q_heads]
  std::vector<double> lse_bound;     // alike
};

Oracle ComputeOracle(const Problem& problem, WeightStorage weights);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_ORACLE_H_
