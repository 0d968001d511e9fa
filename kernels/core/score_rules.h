// What is done to scores between the product of query and key and the softmax,
// and which tokens a query token sees. Everything is off by default, and then
// kernels take none of it in.
//
// In this order, in natural units, for the key at position t and the query
// token at position p:
//
//     s = scale * (q . k)
//     s = soft_cap * tanh(s / soft_cap)
//     s = s + slope[q head] * (t - p)
//     s = s + bias[sequence][t]
//
// and at the end exp(sink_logit[q head]) joins the sum of the weights, with no
// value of its own. Here scores are in base 2, as everywhere in kernels.
#ifndef PAGED_KERNELS_CORE_SCORE_RULES_H_
#define PAGED_KERNELS_CORE_SCORE_RULES_H_

#include <cmath>
#include <cstdint>

#include "kernels/core/host_device.h"
#include "kernels/core/online_softmax.h"

namespace paged {

struct ScoreRules {
  // A query token at position p sees no token behind p, the `window` last ones
  // up to p, those of its own chunk [p / chunk * chunk, p], and the first
  // `sink_tokens` whatever window and chunk say. 0: no such rule.
  int window = 0;
  int chunk = 0;
  int sink_tokens = 0;

  float soft_cap_log2 = 0.0f;           // soft cap times log2(e); 0: none
  const float* alibi_slopes = nullptr;  // [num_q_heads], or null
  const float* sink_logits = nullptr;   // [num_q_heads], or null
  const float* bias = nullptr;          // [num_seqs, bias_stride], or null
  int64_t bias_stride = 0;
};

PAGED_HD inline bool IsPlain(const ScoreRules& rules) {
  return rules.window == 0 && rules.chunk == 0 && rules.soft_cap_log2 == 0.0f &&
         rules.alibi_slopes == nullptr && rules.sink_logits == nullptr &&
         rules.bias == nullptr;
}

// The positions [0, sink_end) and [begin, end), sink_end <= begin.
struct VisibleTokens {
  int begin;
  int end;
  int sink_end;
};

PAGED_HD inline bool Sees(const VisibleTokens& visible, int position) {
  return position < visible.sink_end ||
         (visible.begin <= position && position < visible.end);
}

// What a query token at `position` sees; nothing at a negative position.
PAGED_HD inline VisibleTokens VisibleTokensAt(const ScoreRules& rules,
                                              int position) {
  if (position < 0) return {0, 0, 0};
  int begin = 0;
  if (rules.window > 0 && position >= rules.window) {
    begin = position - rules.window + 1;
  }
  if (rules.chunk > 0) {
    const int chunk_begin = position / rules.chunk * rules.chunk;
    begin = chunk_begin > begin ? chunk_begin : begin;
  }
  return {begin, position + 1,
          rules.sink_tokens < begin ? rules.sink_tokens : begin};
}

// Of query tokens at neighbouring positions, what any of them sees.
PAGED_HD inline VisibleTokens VisibleTokensOfAny(const ScoreRules& rules,
                                                 int first_position,
                                                 int last_position) {
  VisibleTokens visible =
      VisibleTokensAt(rules, first_position < 0 ? 0 : first_position);
  visible.end = last_position < 0 ? 0 : last_position + 1;
  return visible;
}

// cap * tanh(score / cap), small scores with all their digits. A correctly
// rounded quotient is what the GPU cannot afford here.
PAGED_HD inline float Capped(float score, float cap) {
#if defined(__CUDA_ARCH__)
  return cap * tanhf(__fdividef(score, cap));
#else
  return cap * tanhf(score / cap);
#endif
}

// A scaled score with the cap and the summands; `distance` is t - p.
PAGED_HD inline float ModifiedScore(const ScoreRules& rules, float score_log2,
                                    float slope_log2, int distance,
                                    float bias_log2) {
  float score = score_log2;
  if (rules.soft_cap_log2 != 0.0f) {
    score = Capped(score, rules.soft_cap_log2);
  }
  return score + slope_log2 * static_cast<float>(distance) + bias_log2;
}

// How a row ends: what its unnormalised values are multiplied by, and its lse.
struct RowEnd {
  float factor;
  float lse;
};

// A row without tokens, or without weights, ends in 0 and minus infinity; its
// values are not to be read.
PAGED_HD inline RowEnd EndOf(const ScoreRules& rules, SoftmaxState state,
                             int q_head) {
  if (rules.sink_logits == nullptr || IsEmpty(state)) {
    return {InverseSum(state), Lse(state)};
  }
  const SoftmaxState all =
      Merge(state, {rules.sink_logits[q_head] * kLog2E, 1.0f});
  return {WeightOf(state.max_log2, all.max_log2) / all.sum, Lse(all)};
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_SCORE_RULES_H_
