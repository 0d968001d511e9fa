#include "benchmarks/sample_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"
#include "kernels/core/score_rules.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {

float SlopeOf(int q_head) {
  return std::exp2(-static_cast<float>(q_head % 8 + 1));
}
float SinkOf(int q_head) { return static_cast<float>(q_head % 5) - 2.0f; }

namespace {

// An element of a pool or query of this kind as it is stored there: HashUniform
// has a digit more than bf16.
double StoredAt(ElementKind kind, uint32_t seed, int64_t index) {
  const float x = HashElement(kind, seed, index);
  return kind == ElementKind::kBF16 ? double{ToFloat(FromFloat<BFloat16>(x))}
                                    : double{x};
}

// Scores of one row before their softmax, over the tokens that it sees.
std::vector<double> ScoresOf(const BenchShape& shape, int q_head, int position,
                             const VisibleTokens& visible,
                             const std::vector<double>& dots) {
  const BenchRules& rules = shape.rules;
  const double scale =
      rules.scale == 0 ? 1 / std::sqrt(shape.head_dim) : double{rules.scale};
  std::vector<double> scores;
  for (int t = visible.begin; t < visible.end; ++t) {
    double score = scale * dots[static_cast<size_t>(t - visible.begin)];
    if (rules.soft_cap != 0) {
      score = rules.soft_cap * std::tanh(score / rules.soft_cap);
    }
    if (rules.has_alibi) score += double{SlopeOf(q_head)} * (t - position);
    scores.push_back(score);
  }
  return scores;
}

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
  const ElementKind element = internal::KindOf(shape.dtype);
  const ElementKind query_element = internal::KindOf(shape.query_dtype());

  const int q_token = q_head % shape.rules.q_len;
  SampleRow sample = {.row = (int64_t{seq} * shape.rules.q_len + q_token) *
                                 shape.num_q_heads() +
                             q_head,
                      .output = std::vector<double>(static_cast<size_t>(dim))};
  const int position = len - shape.rules.q_len + q_token;
  const VisibleTokens visible = VisibleTokensAt(
      {.window = shape.rules.window, .chunk = shape.rules.attention_chunk},
      position);
  std::vector<double> dots;
  for (int t = visible.begin; t < visible.end; ++t) {
    double dot = 0;
    for (int d = 0; d < dim; ++d) {
      dot += StoredAt(query_element, kQuerySeed, sample.row * dim + d) *
             StoredAt(element, kKeySeed, first_element(t) + d);
    }
    dots.push_back(dot);
  }
  const std::vector<double> scores =
      ScoresOf(shape, q_head, position, visible, dots);
  if (scores.empty()) {
    sample.lse = -std::numeric_limits<double>::infinity();
    return sample;
  }
  double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  if (shape.rules.has_sink_logits) {
    max = std::max(max, double{SinkOf(q_head)});
    sum = std::exp(double{SinkOf(q_head)} - max);
  }
  for (size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(scores[i] - max);
    sum += weight;
    const int64_t first = first_element(visible.begin + static_cast<int>(i));
    for (int d = 0; d < dim; ++d) {
      sample.output[static_cast<size_t>(d)] +=
          weight * StoredAt(element, kValueSeed, first + d);
    }
  }
  for (double& x : sample.output) x /= sum;
  sample.lse = max + std::log(sum);
  return sample;
}

double Error(double expected, float actual) {
  if (expected == double{actual}) return 0;  // infinities too
  const double error = std::abs(expected - double{actual});
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

float LoadFloat(DType dtype, const void* data, int64_t i) {
  if (dtype == DType::kF16) return ToFloat(static_cast<const Half*>(data)[i]);
  if (dtype == DType::kF32) return static_cast<const float*>(data)[i];
  return ToFloat(static_cast<const BFloat16*>(data)[i]);
}

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
    const int64_t row = sample.row;
    for (int d = 0; d < shape.head_dim; ++d) {
      largest = std::max(largest, Error(sample.output[static_cast<size_t>(d)],
                                        LoadFloat(shape.query_dtype(), output,
                                                  row * shape.head_dim + d)));
    }
    largest = std::max(largest, Error(sample.lse, lse[row]));
  }
  return largest;
}

double LargestRelativeError(absl::Span<const SampleRow> samples, DType dtype,
                            const void* output) {
  double largest = 0;
  for (const SampleRow& sample : samples) {
    const auto dim = static_cast<int64_t>(sample.output.size());
    double distance = 0;
    double length = 0;
    for (int64_t d = 0; d < dim; ++d) {
      const double expected = sample.output[static_cast<size_t>(d)];
      const double error =
          Error(expected, LoadFloat(dtype, output, sample.row * dim + d));
      distance += error * error;
      length += expected * expected;
    }
    if (distance > 0) largest = std::max(largest, std::sqrt(distance / length));
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
