// Decode problems for the Thrust baseline, laid out to trip it: interleaved
// keys and values, padded rows, shuffled blocks, NaN wherever no live data is,
// and absurd block ids past the end of each sequence.
#ifndef PAGED_TESTS_BASELINE_THRUST_PROBLEM_H_
#define PAGED_TESTS_BASELINE_THRUST_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/dtype.h"
#include "kernels/core/kernel_params.h"

namespace paged::testing {

struct ThrustCase {
  std::string name;
  ElementKind element = ElementKind::kF32;
  std::vector<int32_t> context_lens;
  int num_kv_heads = 1;
  int group = 1;
  int head_dim = 8;
  int block_size = 4;
  int max_context_len = 32;
};

// Shapes that both worlds are tested with.
std::vector<ThrustCase> ThrustCases();

// Host memory, as bytes so that a test can copy it to a GPU.
struct ThrustProblem {
  explicit ThrustProblem(const ThrustCase& c);

  // Parameters for memory at these addresses (the host's, or copies of it).
  DecodeParams Params(void* query, void* pool, void* output, float* lse,
                      const int32_t* tables, const int32_t* lens) const;
  DecodeParams HostParams();

  float Output(int64_t seq, int q_head, int d) const;
  int64_t num_rows() const;

  ThrustCase c;
  int num_q_heads;
  int max_blocks;
  std::vector<uint8_t> query;   // [num_seqs, num_q_heads, head_dim + padding]
  std::vector<uint8_t> pool;    // [block, slot, kv_head, {key, value}, dim]
  std::vector<uint8_t> output;  // as query
  std::vector<float> lse;
  std::vector<int32_t> tables;
};

// Largest difference of the outputs and lse of two runs of one problem; equal
// infinities differ by 0, and NaN against a number is infinite.
double LargestDifference(const ThrustProblem& a, const ThrustProblem& b);

// The storage type's rounding of numbers below 2, and float32 arithmetic.
double ToleranceOf(ElementKind element);

}  // namespace paged::testing

#endif  // PAGED_TESTS_BASELINE_THRUST_PROBLEM_H_
