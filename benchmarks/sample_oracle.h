// Correctness of what is measured: a few rows recomputed in float64, from the
// function that filled the inputs.
#ifndef PAGED_BENCHMARKS_SAMPLE_ORACLE_H_
#define PAGED_BENCHMARKS_SAMPLE_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/shapes.h"

namespace paged::benchmarks {

// Element i of the query, the key pool and the value pool, all dense, is
// HashUniform(seed, i), rounded where they are of bf16, and HashElement(seed,
// i) in pools of bytes.
inline constexpr uint32_t kQuerySeed = 1;
inline constexpr uint32_t kKeySeed = 2;
inline constexpr uint32_t kValueSeed = 3;

// What each q head's slope and sink are, where a shape has them.
float SlopeOf(int q_head);
float SinkOf(int q_head);

// One row of set 0.
struct SampleRow {
  int64_t row = 0;             // of the output [num_seqs, q_len, num_q_heads]
  std::vector<double> output;  // [head_dim]
  double lse = 0;
};

// Four rows spread over the batch and its heads.
std::vector<SampleRow> ComputeSamples(const BenchShape& shape,
                                      const BenchTables& tables);

// Element i of fp16, bf16 or fp32.
float LoadFloat(DType dtype, const void* data, int64_t i);

// Largest difference over outputs and lse, `output` dense and of the shape's
// dtype; infinity for a NaN.
double LargestError(absl::Span<const SampleRow> samples,
                    const BenchShape& shape, const void* output,
                    const float* lse);

// Largest distance of a row of outputs in relative L2, `output` dense and of
// `dtype`; infinity for a NaN.
double LargestRelativeError(absl::Span<const SampleRow> samples, DType dtype,
                            const void* output);

// Empty, or why a row with this error may not be recorded.
std::string RefusalOf(const BenchShape& shape, double max_abs_error);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_SAMPLE_ORACLE_H_
