#include "benchmarks/sample_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"

namespace paged::benchmarks {
namespace {

SampleRow ComputeSample(const BenchShape& shape, const BenchTables& tables,
                        int seq, int q_head) {
  const int dim = shape.head_dim;
  const int kv_head = q_head / shape.group;
  const absl::Span<const int32_t> blocks = tables.table.row(seq);
  const int len = shape.context_lens[static_cast<size_t>(seq)];
  const auto first_element = [&](int t) {
    const int64_t block = blocks[static_cast<size_t>(t / shape.block_size)];
    const int64_t token = block * shape.block_size + t % shape.block_size;
    return (token * shape.num_kv_heads + kv_head) * dim;
  };

  std::vector<double> query(static_cast<size_t>(dim));
  const int64_t row = int64_t{seq} * shape.num_q_heads() + q_head;
  for (int d = 0; d < dim; ++d) {
    query[static_cast<size_t>(d)] = HashUniform(kQuerySeed, row * dim + d);
  }
  std::vector<double> scores(static_cast<size_t>(len));
  for (int t = 0; t < len; ++t) {
    double dot = 0;
    for (int d = 0; d < dim; ++d) {
      dot += query[static_cast<size_t>(d)] *
             HashUniform(kKeySeed, first_element(t) + d);
    }
    scores[static_cast<size_t>(t)] = dot / std::sqrt(dim);
  }
  SampleRow sample = {.seq = seq, .q_head = q_head, .output = {}};
  sample.output.resize(static_cast<size_t>(dim));
  if (len == 0) {
    sample.lse = -std::numeric_limits<double>::infinity();
    return sample;
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (int t = 0; t < len; ++t) {
    const double weight = std::exp(scores[static_cast<size_t>(t)] - max);
    sum += weight;
    for (int d = 0; d < dim; ++d) {
      sample.output[static_cast<size_t>(d)] +=
          weight * HashUniform(kValueSeed, first_element(t) + d);
    }
  }
  for (double& x : sample.output) x /= sum;
  sample.lse = max + std::log(sum);
  return sample;
}

float LoadFloat(DType dtype, const void* data, int64_t i) {
  if (dtype == DType::kF16) return ToFloat(static_cast<const Half*>(data)[i]);
  if (dtype == DType::kF32) return static_cast<const float*>(data)[i];
  return ToFloat(static_cast<const BFloat16*>(data)[i]);
}

double Error(double expected, float actual) {
  if (expected == double{actual}) return 0;  // infinities too
  const double error = std::abs(expected - double{actual});
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

std::vector<SampleRow> ComputeSamples(const BenchShape& shape,
                                      const BenchTables& tables) {
  const int last_seq = shape.num_seqs() - 1;
  const int last_head = shape.num_q_heads() - 1;
  // Most likely the one that was cut.
  const auto longest =
      std::max_element(shape.context_lens.begin(), shape.context_lens.end());
  const int longest_seq =
      static_cast<int>(longest - shape.context_lens.begin());
  return {ComputeSample(shape, tables, 0, 0),
          ComputeSample(shape, tables, longest_seq, last_head / 2),
          ComputeSample(shape, tables, last_seq, last_head),
          ComputeSample(shape, tables, last_seq / 2, last_head / 2),
          ComputeSample(shape, tables, last_seq / 3, shape.group - 1)};
}

double LargestError(absl::Span<const SampleRow> samples,
                    const BenchShape& shape, const void* output,
                    const float* lse) {
  double largest = 0;
  for (const SampleRow& sample : samples) {
    const int64_t row =
        int64_t{sample.seq} * shape.num_q_heads() + sample.q_head;
    for (int d = 0; d < shape.head_dim; ++d) {
      largest = std::max(largest, Error(sample.output[static_cast<size_t>(d)],
                                        LoadFloat(shape.dtype, output,
                                                  row * shape.head_dim + d)));
    }
    largest = std::max(largest, Error(sample.lse, lse[row]));
  }
  return largest;
}

std::string RefusalOf(const BenchShape& shape, double max_abs_error) {
  // Outputs stay below 2 and lse below 16 here. Weights and outputs are
  // rounded to the storage type, 8 times coarser in bf16 than in fp16.
  const double bound = shape.dtype == DType::kBF16 ? 3e-2 : 1e-2;
  if (max_abs_error <= bound) return "";
  return absl::StrCat("wrong result: max_abs_error ", max_abs_error,
                      " is above ", bound);
}

}  // namespace paged::benchmarks
