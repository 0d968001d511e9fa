// The bound. Let s_t be the scaled scores (natural log), w_t = exp(s_t - max),
// p_t = w_t / sum w, A = sum p_t |v_t| per dimension, u = 2^-23 (twice
// float32's unit roundoff, since tensor cores truncate where they add), and
// g(n) = min(n, 8 sqrt n): n roundings in a row do not conspire (Higham and
// Mary, 2019, with a constant that leaves no room for bad luck).
//
//   score     |ds_t| <= u (g(D) + 2) scale sum_d |q_d k_td| + 4u (|s_t| +
//   |max|) exp2      relative error 2^-21 of each weight weight    so each w_t
//   is off by at most e = max_t |ds_t| + 2^-21,
//             and p_t, whose denominator errs as well, by 2e
//   rounding  of w_t to the storage type adds its unit roundoff r, and 2^-25
//             absolute for fp16's subnormals (w_t <= 1 at all times)
//   sums      over n tokens, and over splits: u (g(n) + 8) relative to A
//   output    rounded once to storage, r |o|, fp16 subnormals again 2^-25
//
//   |do|   <= (2e + r + u (g(n) + 8)) A + 2^-25 sum_t |v_t| / sum w
//             + r |o| + 2^-25
//   |dlse| <= e + u (g(n) + 8) + 4u |lse|
#include "tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/element.h"

namespace paged::testing {
namespace {

constexpr double kRoundoff = 0x1p-23;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Growth(double n) { return std::min(n, 8.0 * std::sqrt(n)); }

std::vector<double> ToDoubles(DType dtype, const std::vector<std::byte>& from) {
  std::vector<double> to(from.size() / static_cast<std::size_t>(SizeOf(dtype)));
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = ReadElement(dtype, from.data(), static_cast<int64_t>(i));
  }
  return to;
}

// One sequence's tensors, and the row that is computed.
struct Row {
  const double* query;   // [head_dim]
  const double* keys;    // of the row's kv head, token 0
  const double* values;  // alike
  int64_t token_stride;
  int context_len;
  int head_dim;
  double scale;
  WeightStorage storage;
  DType dtype;
};

struct Scores {
  std::vector<double> weights;  // exp(s_t - max), unnormalised
  double max = -kInfinity;
  double sum = 0.0;
  double error = 0.0;  // e above
};

Scores ScoresOf(const Row& row) {
  Scores result;
  double score_error = 0.0;
  double largest = 0.0;
  for (int t = 0; t < row.context_len; ++t) {
    const double* key = row.keys + t * row.token_stride;
    double dot = 0.0;
    double magnitude = 0.0;
    for (int d = 0; d < row.head_dim; ++d) {
      dot += row.query[d] * key[d];
      magnitude += std::fabs(row.query[d] * key[d]);
    }
    const double score = dot * row.scale;
    result.weights.push_back(score);
    result.max = std::isnan(score) ? result.max : std::max(result.max, score);
    score_error = std::max(score_error, kRoundoff * row.scale * magnitude *
                                            (Growth(row.head_dim) + 2));
    largest = std::max(largest, std::fabs(score));
  }
  for (double& weight : result.weights) {
    weight = std::exp(weight - result.max);
    result.sum += weight;
  }
  result.error = score_error + 8 * kRoundoff * largest + 0x1p-21;
  return result;
}

void ComputeDim(const Row& row, const Scores& scores, int d, double* output,
                double* bound) {
  double value = 0.0;
  double magnitude = 0.0;
  double total = 0.0;
  for (int t = 0; t < row.context_len; ++t) {
    const double v = row.values[t * row.token_stride + d];
    value += scores.weights[static_cast<std::size_t>(t)] * v;
    magnitude += scores.weights[static_cast<std::size_t>(t)] * std::fabs(v);
    total += std::fabs(v);
  }
  *output = value / scores.sum;
  const double roundoff = UnitRoundoff(row.dtype);
  double relative =
      2 * scores.error + kRoundoff * (Growth(row.context_len) + 8);
  double absolute = roundoff * std::fabs(*output);
  if (row.storage == WeightStorage::kElement) {
    relative += roundoff;
    absolute += 0x1p-25 * total / scores.sum;
  }
  if (row.dtype == DType::kF16) absolute += 0x1p-25;
  *bound = relative * magnitude / scores.sum + absolute;
}

}  // namespace

Oracle ComputeOracle(const Problem& problem, WeightStorage weights) {
  const ProblemSpec& spec = problem.spec;
  const std::vector<double> query = ToDoubles(spec.dtype, problem.query);
  const auto num_rows = static_cast<std::size_t>(spec.num_q_heads) *
                        static_cast<std::size_t>(problem.num_seqs());
  const auto dim = static_cast<std::size_t>(spec.head_dim);
  Oracle oracle{.output = std::vector<double>(num_rows * dim),
                .output_bound = std::vector<double>(num_rows * dim),
                .lse = std::vector<double>(num_rows, -kInfinity),
                .lse_bound = std::vector<double>(num_rows)};
  const float scale = problem.shape.scale != 0.0f
                          ? problem.shape.scale
                          : 1.0f / std::sqrt(static_cast<float>(spec.head_dim));
  std::size_t row_idx = 0;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const SequenceContent& content =
        problem.sequences[static_cast<std::size_t>(seq)];
    const std::vector<double> keys = ToDoubles(spec.dtype, content.keys);
    const std::vector<double> values = ToDoubles(spec.dtype, content.values);
    for (int head = 0; head < spec.num_q_heads; ++head, ++row_idx) {
      if (problem.context_len(seq) == 0) continue;
      const int kv_head = head / (spec.num_q_heads / spec.num_kv_heads);
      const Row row{
          .query = query.data() + problem.QueryIndex(seq, head, 0),
          .keys = keys.data() + problem.ContentIndex(0, kv_head, 0),
          .values = values.data() + problem.ContentIndex(0, kv_head, 0),
          .token_stride = int64_t{spec.num_kv_heads} * spec.head_dim,
          .context_len = problem.context_len(seq),
          .head_dim = spec.head_dim,
          .scale = scale,
          .storage = weights,
          .dtype = spec.dtype};
      const Scores scores = ScoresOf(row);
      oracle.lse[row_idx] = scores.max + std::log(scores.sum);
      oracle.lse_bound[row_idx] =
          scores.error + kRoundoff * (Growth(row.context_len) + 8) +
          4 * kRoundoff * std::fabs(oracle.lse[row_idx]);
      for (int d = 0; d < spec.head_dim; ++d) {
        const std::size_t i = row_idx * dim + static_cast<std::size_t>(d);
        ComputeDim(row, scores, d, &oracle.output[i], &oracle.output_bound[i]);
      }
    }
  }
  return oracle;
}

}  // namespace paged::testing
