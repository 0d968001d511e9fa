// The bound. Let s_t be the scaled scores (natural log), w_t = exp(s_t - max),
// p_t = w_t / sum w, A = sum p_t |v_t| per dimension, u = 2^-23 (twice
// float32's unit roundoff, since tensor cores truncate where they add), and
// g(n) = min(n, 8 sqrt n): n roundings in a row do not conspire (Higham and
// Mary, 2019, with a constant that leaves no room for bad luck).
//
//   score     |ds_t| <= u (g(D) + 4) scale sum_d |q_d k_td| + 4u (m_t + m),
//             where m_t adds up what the score is made of (the capped product,
//             slope times distance, bias), and m is the largest of them and of
//             the sink; a soft cap enlarges no error
//   exp2      relative error 2^-21 of each weight, and absolute 2^-125: what is
//             smaller may become 0; so may an output below 2^-133, the least
//             of bf16
//   weight    so each w_t is off by at most e = max_t |ds_t| + 2^-21,
//             and p_t, whose denominator errs as well, by 2e
//   rounding  of w_t to the storage type adds its unit roundoff r, and 2^-25
//             absolute for fp16's subnormals (w_t <= 1 at all times); where
//             each token has a scale s_t of its values c_t, the weights may
//             be those of codes, w_t s_t relative to the largest, with
//             2^-25 max_t(w_t s_t) sum_t |c_t| / sum w
//             As 16-bit integers, whose largest is L = 32767 (less for rows of
//             more than 512, where sums would not fit): 0.51 / L of a row's
//             largest query in each of its elements, and of the largest
//             w_t s_t in each weight
//   sink      so large that the share of everything else flushes to 0: 2^-126
//             of A without the sink
//   sums      over n tokens, over splits, times the values' scales: u (g(n) +
//             12) relative to A
//   output    rounded once to storage, r |o|, fp16 subnormals again 2^-25
//
//   |do|   <= (2e + r + u (g(n) + 12)) A + 2^-25 sum_t |v_t| / sum w
//             + r |o| + 2^-25 + 2^-125 sum_t |v_t| / sum w + 2^-133
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

// Half of the step of a number whose largest is 1, as 16-bit integers of rows
// of `head_dim`, and something for the product that makes it one.
double IntegerRoundoff(int head_dim) {
  return 0.51 / std::min(32767, (1 << 24) / (head_dim + 32));
}

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
  const Problem& problem;
  int seq;
  int token;  // query token
  int q_head;
  const double* query;   // [head_dim]
  const double* keys;    // of the row's kv head, token 0
  const double* values;  // alike
  double scale;
  WeightStorage storage;
};

struct Scores {
  std::vector<int> positions;   // that the row sees
  std::vector<double> weights;  // exp(s_t - max), unnormalised
  double max = -kInfinity;      // of the scores and of the sink
  double sum = 0.0;
  double unit = 1.0;   // weight of the largest score, which kernels give a 1
  double error = 0.0;  // e above
  bool is_all_masked = true;  // no score but minus infinity
};

// What a score is made of.
struct Score {
  double value;
  double magnitude;  // m_t above
  double dot_error;
};

int KvHeadOf(const Row& row) {
  const ProblemSpec& spec = row.problem.spec;
  return row.q_head / (spec.num_q_heads / spec.num_kv_heads);
}

Score ScoreOf(const Row& row, int position) {
  const Problem& problem = row.problem;
  const ProblemSpec& spec = problem.spec;
  const double* key =
      row.keys + int64_t{position} * spec.num_kv_heads * spec.head_dim;
  const double key_scale = problem.KeyScale(row.seq, position, KvHeadOf(row));
  double dot = 0.0;
  double magnitude = 0.0;
  double key_sum = 0.0;
  double largest_query = 0.0;
  for (int d = 0; d < spec.head_dim; ++d) {
    const double product = row.query[d] * (key[d] * key_scale);
    dot += product;
    magnitude += std::fabs(product);
    key_sum += std::fabs(key[d] * key_scale);
    largest_query = std::max(largest_query, std::fabs(row.query[d]));
  }
  double score = dot * row.scale;
  Score result{.value = 0.0,
               .magnitude = std::fabs(score),
               .dot_error = kRoundoff * row.scale * magnitude *
                            (Growth(spec.head_dim) + 4)};
  if (row.storage == WeightStorage::kInteger) {
    result.dot_error +=
        IntegerRoundoff(spec.head_dim) * row.scale * largest_query * key_sum;
  }
  if (spec.soft_cap > 0.0f) {
    score = spec.soft_cap * std::tanh(score / spec.soft_cap);
    result.magnitude = std::fabs(score);
  }
  if (spec.has_alibi) {
    const int own =
        problem.context_len(row.seq) - problem.q_len(row.seq) + row.token;
    const double alibi =
        problem.alibi_slopes[static_cast<std::size_t>(row.q_head)] *
        static_cast<double>(position - own);
    score += alibi;
    result.magnitude += std::fabs(alibi);
  }
  if (spec.has_bias) {
    const double bias = problem.bias[static_cast<std::size_t>(
        int64_t{row.seq} * problem.shape.max_context_len + position)];
    score += bias;
    result.magnitude += std::fabs(bias);
  }
  result.value = score;
  return result;
}

Scores ScoresOf(const Row& row) {
  const Problem& problem = row.problem;
  Scores result;
  double score_error = 0.0;
  double largest = 0.0;
  for (int t = 0; t < problem.context_len(row.seq); ++t) {
    if (!problem.Sees(row.seq, row.token, t)) continue;
    const Score score = ScoreOf(row, t);
    result.positions.push_back(t);
    result.weights.push_back(score.value);
    if (score.value != -kInfinity) result.is_all_masked = false;
    if (!std::isnan(score.value)) {
      result.max = std::max(result.max, score.value);
    }
    score_error = std::max(score_error, score.dot_error);
    // Of minus infinity nothing is rounded.
    if (!std::isinf(score.magnitude)) {
      largest = std::max(largest, score.magnitude);
    }
  }
  if (problem.spec.has_sink_logits) {
    const double sink =
        problem.sink_logits[static_cast<std::size_t>(row.q_head)];
    const double largest_score = result.max;
    result.max = std::max(result.max, sink);
    result.unit = std::exp(largest_score - result.max);
    result.sum = std::exp(sink - result.max);
    largest = std::max(largest, std::fabs(sink));
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
  const Problem& problem = row.problem;
  const int64_t token_stride =
      int64_t{problem.spec.num_kv_heads} * problem.value_dim();
  double value = 0.0;
  double magnitude = 0.0;
  double total = 0.0;
  // Of codes whose scales are taken into their weights.
  double total_codes = 0.0;
  double largest_scaled = 0.0;
  for (std::size_t i = 0; i < scores.positions.size(); ++i) {
    const int position = scores.positions[i];
    const double code = row.values[position * token_stride + d];
    const double scale = problem.ValueScale(row.seq, position, KvHeadOf(row));
    const double v = code * scale;
    total_codes += std::fabs(code);
    largest_scaled = std::max(largest_scaled, scores.weights[i] * scale);
    value += scores.weights[i] * v;
    magnitude += scores.weights[i] * std::fabs(v);
    total += std::fabs(v);
  }
  *output = value / scores.sum;
  double relative =
      2 * scores.error +
      kRoundoff * (Growth(static_cast<double>(scores.positions.size())) + 12);
  double absolute = UnitRoundoff(problem.query_dtype()) * std::fabs(*output);
  if (row.storage == WeightStorage::kElement) {
    // Weights for codes of 8 bits are stored as fp16.
    relative += UnitRoundoff(
        SizeOf(problem.spec.dtype) == 1 ? DType::kF16 : problem.spec.dtype);
    absolute += 0x1p-25 * total * scores.unit / scores.sum;
    if (problem.spec.value_scales == ScaleGranularity::kToken) {
      absolute += 0x1p-25 * total_codes * largest_scaled / scores.sum;
    }
  }
  if (row.storage == WeightStorage::kInteger) {
    absolute += IntegerRoundoff(1) * total_codes * largest_scaled / scores.sum;
  }
  // A sink so large that the weight of everything else flushes to zero.
  if (scores.unit > 0.0) {
    absolute += 0x1p-126 * magnitude / (scores.unit * scores.sum);
  }
  if (problem.query_dtype() == DType::kF16) absolute += 0x1p-25;
  absolute += 0x1p-125 * total * scores.unit / scores.sum + 0x1p-133;
  *bound = relative * magnitude / scores.sum + absolute;
}

double ScaleOf(const Problem& problem) {
  if (problem.shape.scale != 0.0f) return problem.shape.scale;
  return 1.0f / std::sqrt(static_cast<float>(problem.spec.head_dim));
}

// A row without a visible token, or whose scores are all minus infinity, keeps
// output 0 and lse minus infinity.
void ComputeRow(const Row& row, std::size_t row_idx, Oracle& oracle) {
  const Scores scores = ScoresOf(row);
  if (scores.positions.empty() || scores.is_all_masked) return;
  oracle.lse[row_idx] = scores.max + std::log(scores.sum);
  oracle.lse_bound[row_idx] =
      scores.error +
      kRoundoff * (Growth(static_cast<double>(scores.positions.size())) + 8) +
      4 * kRoundoff * std::fabs(oracle.lse[row_idx]);
  const int dim = row.problem.value_dim();
  for (int d = 0; d < dim; ++d) {
    const std::size_t i =
        row_idx * static_cast<std::size_t>(dim) + static_cast<std::size_t>(d);
    ComputeDim(row, scores, d, &oracle.output[i], &oracle.output_bound[i]);
  }
}

}  // namespace

Oracle ComputeOracle(const Problem& problem, WeightStorage weights) {
  const ProblemSpec& spec = problem.spec;
  const std::vector<double> query =
      ToDoubles(problem.query_dtype(), problem.query);
  const auto num_rows = static_cast<std::size_t>(
      problem.FirstToken(problem.num_seqs()) * spec.num_q_heads);
  const auto dim = static_cast<std::size_t>(problem.value_dim());
  Oracle oracle{.output = std::vector<double>(num_rows * dim),
                .output_bound = std::vector<double>(num_rows * dim),
                .lse = std::vector<double>(num_rows, -kInfinity),
                .lse_bound = std::vector<double>(num_rows)};
  const double scale = ScaleOf(problem);
  const int group = spec.num_q_heads / spec.num_kv_heads;
  std::size_t row_idx = 0;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const SequenceContent& content =
        problem.sequences[static_cast<std::size_t>(seq)];
    const std::vector<double> keys = ToDoubles(spec.dtype, content.keys);
    const std::vector<double> values = ToDoubles(spec.dtype, content.values);
    for (int token = 0; token < problem.q_len(seq); ++token) {
      for (int head = 0; head < spec.num_q_heads; ++head, ++row_idx) {
        const Row row{
            .problem = problem,
            .seq = seq,
            .token = token,
            .q_head = head,
            .query = query.data() +
                     row_idx * static_cast<std::size_t>(spec.head_dim),
            .keys = keys.data() + problem.KeyIndex(0, head / group, 0),
            .values = values.data() + problem.ValueIndex(0, head / group, 0),
            .scale = scale,
            .storage = weights};
        ComputeRow(row, row_idx, oracle);
      }
    }
  }
  return oracle;
}

}  // namespace paged::testing
