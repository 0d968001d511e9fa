// Score rules and scales of single tokens, for the two rows of a lane.
#ifndef PAGED_KERNELS_CUDA_LANE_RULES_CUH_
#define PAGED_KERNELS_CUDA_LANE_RULES_CUH_

#include "kernels/core/kernel_params.h"
#include "kernels/core/visibility.h"
#include "kernels/cuda/fragment_layout.cuh"
#include "kernels/cuda/tile_math.cuh"

namespace paged {

// What instances without rules have in place of LaneRules: the context ends.
template <typename Layout>
class TailRule {
 public:
  __device__ __forceinline__ TailRule(const DecodeParams&, const WorkItem& item,
                                      int)
      : context_len_(item.context_len) {}

  __device__ __forceinline__ void Apply(int tile, int, uint32_t,
                                        Scores<Layout>& scores) const {
    const int live = context_len_ - tile * kTileTokens;
    if (live >= kTileTokens) return;
#pragma unroll
    for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (Layout::Place(Layout::TokenOf(n, j)) >= live) {
          scores[n][j] = -INFINITY;
        }
      }
    }
  }

 private:
  int context_len_;
};

// The rules of a lane's rows in each row group. The item is narrowed, and has a
// row.
template <typename Layout, int kGroups>
class LaneRules {
 public:
  __device__ __forceinline__ LaneRules(const DecodeParams& p,
                                       const WorkItem& item, int kv_head)
      : p_(p) {
    const int last = item.num_rows - 1;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        // Rows past the last are nobody's, and must not be looked up.
        const int row = min(g * Layout::kRows + Layout::Row(half), last);
        rows_[g][half] = RowRulesOf(p, item, kv_head, item.first_row + row);
      }
    }
    changes_scores_ = p.rules.soft_cap_log2 != 0.0f ||
                      p.rules.alibi_slopes != nullptr ||
                      p.rules.bias != nullptr;
    const RowRules lower = RowRulesOf(p, item, kv_head, item.first_row);
    const RowRules upper = RowRulesOf(p, item, kv_head, item.first_row + last);
    seen_begin_ = upper.visible.begin;
    seen_end_ = min(lower.visible.end, lower.tree_begin);
  }

  // Turns the scaled scores of a tile into those that the softmax takes: rule
  // by rule, as each is on or off for all of them. `biases` [kTileTokens] lie
  // in shared memory, if there are any.
  __device__ __forceinline__ void Apply(int tile, int group, uint32_t biases,
                                        Scores<Layout>& scores) const {
    const int begin = tile * kTileTokens;
    if (changes_scores_) Change(begin, group, biases, scores);
    if (begin < seen_begin_ || begin + kTileTokens > seen_end_) {
      ForEach(begin, group, scores,
              [](const RowRules& row, int position, float score) {
                return Sees(row, position) ? score : -INFINITY;
              });
    }
  }

 private:
  __device__ __forceinline__ void Change(int begin, int group, uint32_t biases,
                                         Scores<Layout>& scores) const {
    const ScoreRules& rules = p_.rules;
    if (rules.soft_cap_log2 != 0.0f) {
      ForEach(begin, group, scores, [&](const RowRules&, int, float score) {
        return Capped(score, rules.soft_cap_log2);
      });
    }
    if (rules.alibi_slopes != nullptr) {
      ForEach(begin, group, scores,
              [](const RowRules& row, int position, float score) {
                return score + row.slope_log2 *
                                   static_cast<float>(position - row.position);
              });
    }
    if (rules.bias != nullptr) AddBiases(biases, scores);
  }

  static __device__ __forceinline__ void AddBiases(uint32_t biases,
                                                   Scores<Layout>& scores) {
    float biases_log2[Layout::kTokens];
#pragma unroll
    for (int i = 0; i < Layout::kTokens; ++i) {
      biases_log2[i] = LoadSharedFloat(biases + Layout::Place(i) * 4) * kLog2E;
    }
#pragma unroll
    for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[n][j] += biases_log2[Layout::TokenOf(n, j)];
      }
    }
  }

  template <typename Rule>
  __device__ __forceinline__ void ForEach(int begin, int group,
                                          Scores<Layout>& scores,
                                          const Rule& rule) const {
#pragma unroll
    for (int n = 0; n < Layout::kParts; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[n][j] =
            rule(rows_[group][Layout::HalfOf(j)],
                 begin + Layout::Place(Layout::TokenOf(n, j)), scores[n][j]);
      }
    }
  }

  const DecodeParams& p_;
  RowRules rows_[kGroups][2];
  bool changes_scores_;
  int seen_begin_;  // of what all rows see
  int seen_end_;
};

// The scales of a tile's values, where each token has its own, as powers of two
// and signs. They join the scores, so that the weights which go to the tensor
// cores stay in the range of 16 bits, and leave the sum of the weights again:
// the maximum is then that of score plus exponent, for the sum too.
template <typename Layout>
struct TokenScales {
  float exponents[Layout::kTokens];
  float values[Layout::kTokens];

  __device__ __forceinline__ void Load(uint32_t scales) {
#pragma unroll
    for (int i = 0; i < Layout::kTokens; ++i) {
      values[i] = LoadSharedFloat(scales + Layout::Place(i) * 4);
      const float exponent = __log2f(fabsf(values[i]));
      // Of zero, a number that leaves next to nothing; NaN stays.
      exponents[i] = exponent < -126.0f ? -126.0f : exponent;
    }
  }
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_LANE_RULES_CUH_
