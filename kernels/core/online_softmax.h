// Softmax over a set of tokens, kept as (max, sum), so that tokens can be
// pushed one at a time and disjoint sets can be merged.
//
// With weighted values alongside, (max, sum, values) is a monoid: the default
// state is its identity and Merge its operation. v1 folds it from left to
// right, split_k brackets the same fold differently; kernels/README.md shows
// why the result is the same.
//
// Scores are in base 2 (scaled score times log2(e)), since exp2 is what the
// hardware has. Only Lse leaves that base.
#ifndef PAGED_KERNELS_CORE_ONLINE_SOFTMAX_H_
#define PAGED_KERNELS_CORE_ONLINE_SOFTMAX_H_

#include <cmath>

#include "kernels/core/host_device.h"

namespace paged {

inline constexpr float kLog2E = 1.44269504088896340736f;
inline constexpr float kLn2 = 0.69314718055994530942f;

// The default value is the empty set.
struct SoftmaxState {
  // The largest score, base 2, or one near it: any will do that keeps the sum
  // in the range of numbers.
  float max_log2 = -INFINITY;
  float sum = 0.0f;  // sum of exp2(score - max_log2)
};

// A state nothing was pushed into, or only scores of minus infinity. NaN
// scores leave the maximum alone and make the sum NaN, so the sum decides.
PAGED_HD inline bool IsEmpty(SoftmaxState s) { return s.sum == 0.0f; }

// 2^x; 0 for minus infinity. On the GPU the hardware's own, within 2 ulp.
PAGED_HD inline float Exp2(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

// exp2(score - max), where an empty maximum counts as 0: that keeps
// (-inf) - (-inf) out, and makes exp2(-inf) = 0 the weight of a masked score.
PAGED_HD inline float WeightOf(float score_log2, float max_log2) {
  return Exp2(score_log2 - (max_log2 == -INFINITY ? 0.0f : max_log2));
}

// What to multiply by when a score joins: `keep` what was accumulated,
// `weight` the new token's value.
struct SoftmaxStep {
  SoftmaxState state;
  float keep;
  float weight;
};

PAGED_HD inline SoftmaxStep Push(SoftmaxState s, float score_log2) {
  const float max = fmaxf(s.max_log2, score_log2);
  const float keep = WeightOf(s.max_log2, max);
  const float weight = WeightOf(score_log2, max);
  return {{max, s.sum * keep + weight}, keep, weight};
}

// The state of the union of two disjoint sets. Merging with an empty state
// returns the other one to the bit.
PAGED_HD inline SoftmaxState Merge(SoftmaxState a, SoftmaxState b) {
  const float max = fmaxf(a.max_log2, b.max_log2);
  return {max, a.sum * WeightOf(a.max_log2, max) +
                   b.sum * WeightOf(b.max_log2, max)};
}

// Factor that turns accumulated values into the output; 0 for an empty set.
PAGED_HD inline float InverseSum(SoftmaxState s) {
  return IsEmpty(s) ? 0.0f : 1.0f / s.sum;
}

// Natural-log log-sum-exp of the scaled scores; minus infinity for an empty
// set.
PAGED_HD inline float Lse(SoftmaxState s) {
  return IsEmpty(s) ? -INFINITY : (s.max_log2 + log2f(s.sum)) * kLn2;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_ONLINE_SOFTMAX_H_
