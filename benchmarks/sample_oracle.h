// Correctness of what is measured: a few rows recomputed in float64, from the
// functions that filled the inputs (host_tensors.h), in no order of tiles.
#ifndef PAGED_BENCHMARKS_SAMPLE_ORACLE_H_
#define PAGED_BENCHMARKS_SAMPLE_ORACLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/shapes.h"

namespace paged::benchmarks {

// One row of set 0.
struct SampleRow {
  int64_t row = 0;             // of the output [query tokens, num_q_heads]
  std::vector<double> output;  // [output_dim]
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

// The largest error of a right result.
double ErrorBoundOf(const BenchShape& shape);

// Empty, or why a row with this error may not be recorded.
std::string RefusalOf(const BenchShape& shape, double max_abs_error);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_SAMPLE_ORACLE_H_
