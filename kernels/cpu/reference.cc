// The textbook formula, one row at a time: scores, softmax, weighted sum.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/core/partition.h"
#include "kernels/cpu/decode_kernels.h"
#include "kernels/cpu/elements.h"

namespace paged {
namespace {

bool IsSeen(const ScoreRules& rules, int t, int position) {
  if (t > position) return false;
  if (t < rules.sink_tokens) return true;
  if (rules.window > 0 && position - t >= rules.window) return false;
  return rules.chunk == 0 || t / rules.chunk == position / rules.chunk;
}

double Modified(const ScoreRules& rules, double score, int seq, int q_head,
                int t, int position) {
  if (rules.soft_cap_log2 != 0.0f) {
    const double cap = rules.soft_cap_log2 * std::numbers::ln2;
    score = cap * std::tanh(score / cap);
  }
  if (rules.alibi_slopes != nullptr) {
    score += double{rules.alibi_slopes[q_head]} * (t - position);
  }
  if (rules.bias != nullptr) score += rules.bias[seq * rules.bias_stride + t];
  return score;
}

// Where a token lies, and what its codes are multiplied by.
template <typename KvElement>
struct Token {
  const KvElement* codes;
  double scale;
};

template <typename KvElement>
Token<KvElement> TokenOf(const DecodeParams& p, const KvView& view,
                         const KvScales& scales, int seq, int position,
                         int kv_head) {
  const SlotPlace place = PlaceOf(position, p.block_size);
  const int64_t block =
      p.block_tables[seq * p.block_table_stride + place.logical_block];
  double scale = scales.factor;
  if (scales.data != nullptr) {
    scale *= scales.data[block * scales.block_stride +
                         place.slot * scales.slot_stride +
                         kv_head * scales.head_stride];
  }
  return {static_cast<const KvElement*>(view.data) +
              OffsetOf(view, block, place.slot, kv_head),
          scale};
}

template <typename QueryElement, typename KvElement>
void ReferenceRow(const DecodeParams& p, int seq, int kv_head, int row) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const RowPlace place = RowPlaceOf(p, kv_head, row);
  const auto* query = static_cast<const QueryElement*>(p.query.data) +
                      RowOffset(p, p.query, seq, place);
  auto* output = static_cast<QueryElement*>(p.output.data) +
                 RowOffset(p, p.output, seq, place);
  const int context_len = ClampContextLen(p, p.context_lens[seq]);
  const QueryTokens tokens = QueryTokensOf(p, seq);
  const int position = context_len - tokens.q_len + place.token;
  const auto is_seen = [&](int t) {
    const int query_token = t - (context_len - tokens.q_len);
    if (p.tree_masks != nullptr && query_token >= 0) {
      return (p.tree_masks[tokens.first + place.token] >> query_token & 1u) !=
             0;
    }
    return IsSeen(p.rules, t, position);
  };
  const double scale = p.scale_log2 * std::numbers::ln2;

  // Of tokens that are not seen, minus infinity.
  std::vector<double> weights(static_cast<std::size_t>(context_len),
                              -kInfinity);
  double max = -kInfinity;
  for (int t = 0; t < context_len; ++t) {
    if (!is_seen(t)) continue;
    const auto key =
        TokenOf<KvElement>(p, p.key, p.key_scales, seq, t, kv_head);
    double dot = 0.0;
    for (int d = 0; d < p.key_dim; ++d) {
      dot += double{ToFloat(query[d])} * double{ToFloat(key.codes[d])};
    }
    const double score = Modified(p.rules, dot * key.scale * scale, seq,
                                  place.q_head, t, position);
    weights[static_cast<std::size_t>(t)] = score;
    max = std::fmax(max, score);
  }

  // With a maximum of minus infinity every weight is 0, or NaN.
  double sum = 0.0;
  for (double& weight : weights) {
    weight = std::exp(weight - (max == -kInfinity ? 0.0 : max));
    sum += weight;
  }

  if (p.rules.sink_logits != nullptr && sum != 0.0) {
    sum += std::exp(p.rules.sink_logits[place.q_head] -
                    (max == -kInfinity ? 0.0 : max));
  }

  std::vector<double> values(static_cast<std::size_t>(p.value_dim), 0.0);
  for (int t = 0; t < context_len && sum != 0.0; ++t) {
    if (!is_seen(t)) continue;
    const auto value =
        TokenOf<KvElement>(p, p.value, p.value_scales, seq, t, kv_head);
    const double weight =
        weights[static_cast<std::size_t>(t)] / sum * value.scale;
    for (int d = 0; d < p.value_dim; ++d) {
      values[static_cast<std::size_t>(d)] +=
          weight * double{ToFloat(value.codes[d])};
    }
  }

  for (int d = 0; d < p.value_dim; ++d) {
    output[d] = FromFloat<QueryElement>(
        static_cast<float>(values[static_cast<std::size_t>(d)]));
  }
  if (p.lse != nullptr) {
    p.lse[LseIndex(p, seq, place)] = static_cast<float>(
        sum == 0.0 ? -kInfinity
                   : (max == -kInfinity ? 0.0 : max) + std::log(sum));
  }
}

}  // namespace

void RunReference(DecodeElements elements, const DecodeParams& params) {
  WithQueryElement(elements.query, [&]<typename Query>(Query) {
    WithElement(elements.kv, [&]<typename Kv>(Kv) {
      for (int seq = 0; seq < params.num_seqs; ++seq) {
        for (int kv_head = 0; kv_head < params.num_kv_heads; ++kv_head) {
          const int rows = QueryTokensOf(params, seq).q_len * params.group;
          for (int row = 0; row < rows; ++row) {
            ReferenceRow<Query, Kv>(params, seq, kv_head, row);
          }
        }
      }
    });
  });
}

}  // namespace paged
