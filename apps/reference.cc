#include "apps/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paged {
namespace {

// The tokens of one sequence, for one kv head.
struct Context {
  const double* keys;    // [len, ..., head_dim], rows key_stride apart
  const double* values;  // [len, ..., value_dim], rows value_stride apart
  int64_t key_stride;
  int64_t value_stride;
  int64_t len;
};

// Writes one output row and returns its log-sum-exp.
double Attend(const double* query, const Context& context, int head_dim,
              int value_dim, double scale, double* output) {
  std::vector<double> weights(static_cast<std::size_t>(context.len));
  double max = -std::numeric_limits<double>::infinity();
  for (int64_t t = 0; t < context.len; ++t) {
    double score = 0;
    for (int d = 0; d < head_dim; ++d) {
      score += query[d] * context.keys[t * context.key_stride + d];
    }
    weights[static_cast<std::size_t>(t)] = score * scale;
    max = std::max(max, score * scale);
  }
  if (context.len == 0) return max;

  double sum = 0;
  for (double& weight : weights) {
    weight = std::exp(weight - max);
    sum += weight;
  }
  for (int64_t t = 0; t < context.len; ++t) {
    const double weight = weights[static_cast<std::size_t>(t)] / sum;
    for (int d = 0; d < value_dim; ++d) {
      output[d] += weight * context.values[t * context.value_stride + d];
    }
  }
  return max + std::log(sum);
}

}  // namespace

Answer ComputeReference(const Layer& layer, double scale) {
  const std::vector<double> query = ToDoubles(layer.query);
  const std::vector<double> keys = ToDoubles(layer.key);
  const std::vector<double> values = ToDoubles(layer.value);
  const int64_t key_stride = int64_t{layer.num_kv_heads} * layer.head_dim;
  const int64_t value_stride = int64_t{layer.num_kv_heads} * layer.value_dim;
  const std::size_t num_rows = static_cast<std::size_t>(layer.num_seqs) *
                               static_cast<std::size_t>(layer.num_q_heads);

  Answer answer{.output = std::vector<double>(
                    num_rows * static_cast<std::size_t>(layer.value_dim), 0.0),
                .lse = std::vector<double>(num_rows)};
  int64_t first_token = 0;
  int64_t row = 0;
  for (int32_t len : layer.context_lens) {
    for (int head = 0; head < layer.num_q_heads; ++head, ++row) {
      const int kv_head = head / layer.group();
      const Context context{.keys = keys.data() + first_token * key_stride +
                                    int64_t{kv_head} * layer.head_dim,
                            .values = values.data() +
                                      first_token * value_stride +
                                      int64_t{kv_head} * layer.value_dim,
                            .key_stride = key_stride,
                            .value_stride = value_stride,
                            .len = len};
      answer.lse[static_cast<std::size_t>(row)] = Attend(
          query.data() + row * layer.head_dim, context, layer.head_dim,
          layer.value_dim, scale, answer.output.data() + row * layer.value_dim);
    }
    first_token += len;
  }
  return answer;
}

}  // namespace paged
