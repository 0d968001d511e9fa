#include "benchmarks/sample_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/host_tensors.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {

namespace {

// x as it is stored where elements are of this kind: HashUniform has a digit
// more than bf16.
double Stored(ElementKind kind, float x) {
  return kind == ElementKind::kBF16 ? double{ToFloat(FromFloat<BFloat16>(x))}
                                    : double{x};
}

// An element of a pool.
double StoredAt(ElementKind kind, uint32_t seed, int64_t index) {
  return Stored(kind, HashElement(kind, seed, index));
}

// A row of set 0: q head of a query token of a sequence.
struct RowOf {
  const BenchShape& shape;
  const BenchTables& tables;
  int seq;
  int q_token;
  int q_head;

  int kv_head() const { return q_head / shape.group; }
  int first_query_position() const {
    return shape.context_lens[static_cast<size_t>(seq)] - shape.q_len(seq);
  }
  int position() const { return first_query_position() + q_token; }
  // Index into the output without its dimensions.
  int64_t index() const {
    return (shape.first_query_token(seq) + q_token) * shape.num_q_heads() +
           q_head;
  }
  // Index into a pool without its dimensions.
  int64_t HeadAt(int t) const {
    const int64_t block =
        tables.table.row(seq)[static_cast<size_t>(t / shape.block_size)];
    const int64_t slot = block * shape.block_size + t % shape.block_size;
    return slot * shape.num_kv_heads + kv_head();
  }
  bool Sees(int t) const;
  double Scale(uint32_t seed, int t) const;
  std::vector<double> Query() const;
  double Score(const std::vector<double>& query, int t) const;
};

bool RowOf::Sees(int t) const {
  const BenchRules& rules = shape.rules;
  if (rules.has_tree_masks && t >= first_query_position()) {
    return (TreeMaskOf(seq, q_token) >> (t - first_query_position()) & 1u) != 0;
  }
  if (t > position()) return false;
  if (t < rules.sink_tokens) return true;
  if (rules.window != 0 && position() - t >= rules.window) return false;
  return rules.attention_chunk == 0 ||
         t / rules.attention_chunk == position() / rules.attention_chunk;
}

// Of the keys or the values.
double RowOf::Scale(uint32_t seed, int t) const {
  switch (shape.scales) {
    case ScaleGranularity::kTensor:
      return ScaleOf(seed, 0);
    case ScaleGranularity::kHead:
      return ScaleOf(seed, kv_head());
    case ScaleGranularity::kToken:
      return ScaleOf(seed, HeadAt(t));
    case ScaleGranularity::kNone:
      break;
  }
  return 1;
}

std::vector<double> RowOf::Query() const {
  const DType dtype = shape.query_dtype();
  std::vector<double> query;
  for (int d = 0; d < shape.head_dim; ++d) {
    query.push_back(Stored(internal::KindOf(dtype),
                           QueryAt(dtype, index() * shape.head_dim + d)));
  }
  return query;
}

// Before the softmax.
double RowOf::Score(const std::vector<double>& query, int t) const {
  const BenchRules& rules = shape.rules;
  const ElementKind element = internal::KindOf(shape.dtype);
  const int64_t key = HeadAt(t) * shape.head_dim;
  double dot = 0;
  for (int d = 0; d < shape.head_dim; ++d) {
    dot += query[static_cast<size_t>(d)] * StoredAt(element, kKeySeed, key + d);
  }
  double score = dot * Scale(kKeySeed, t);
  score *=
      rules.scale == 0 ? 1 / std::sqrt(shape.head_dim) : double{rules.scale};
  if (rules.soft_cap != 0) {
    score = rules.soft_cap * std::tanh(score / rules.soft_cap);
  }
  if (rules.has_alibi) score += double{SlopeOf(q_head)} * (t - position());
  if (rules.has_bias) score += double{BiasOf(seq, t)};
  return score;
}

SampleRow ComputeSample(const BenchShape& shape, const BenchTables& tables,
                        int seq, int q_head) {
  const RowOf row = {shape, tables, seq, q_head % shape.q_len(seq), q_head};
  const int dim = shape.output_dim();
  SampleRow sample = {.row = row.index(),
                      .output = std::vector<double>(static_cast<size_t>(dim)),
                      .lse = -std::numeric_limits<double>::infinity()};
  const std::vector<double> query = row.Query();
  std::vector<std::pair<int, double>> scores;  // of the tokens that it sees
  for (int t = 0; t < shape.context_lens[static_cast<size_t>(seq)]; ++t) {
    if (row.Sees(t)) scores.emplace_back(t, row.Score(query, t));
  }
  if (scores.empty()) return sample;
  const double sink = shape.rules.has_sink_logits
                          ? double{SinkOf(q_head)}
                          : -std::numeric_limits<double>::infinity();
  double max = sink;
  for (const auto& [t, score] : scores) max = std::max(max, score);
  double sum = std::exp(sink - max);
  const ElementKind element = internal::KindOf(shape.dtype);
  for (const auto& [t, score] : scores) {
    const double weight = std::exp(score - max);
    sum += weight;
    const double scaled = weight * row.Scale(kValueSeed, t);
    for (int d = 0; d < dim; ++d) {
      sample.output[static_cast<size_t>(d)] +=
          scaled * StoredAt(element, kValueSeed, row.HeadAt(t) * dim + d);
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
    for (int d = 0; d < shape.output_dim(); ++d) {
      largest =
          std::max(largest, Error(sample.output[static_cast<size_t>(d)],
                                  LoadFloat(shape.query_dtype(), output,
                                            row * shape.output_dim() + d)));
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

double ErrorBoundOf(const BenchShape& shape) {
  // Outputs stay below 2 and lse below 16 here. In float32 what counts is the
  // lse's last place, 1e-6, and the sums.
  if (shape.query_dtype() == DType::kF32) return 2e-5;
  // Weights and outputs are rounded to the storage type: by half of the last
  // place of each, and as much again for all else.
  const bool has_bf16 =
      shape.query_dtype() == DType::kBF16 || shape.dtype == DType::kBF16;
  return 4 * (has_bf16 ? 0x1p-8 : 0x1p-11);
}

std::string RefusalOf(const BenchShape& shape, double max_abs_error) {
  const double bound = ErrorBoundOf(shape);
  if (max_abs_error <= bound) return "";
  return absl::StrCat("wrong result: max_abs_error ", max_abs_error,
                      " is above ", bound);
}

}  // namespace paged::benchmarks
