// What scores are too large for a product with the scale that is not rounded.
#ifndef PAGED_KERNELS_CPU_LARGE_SCORE_H_
#define PAGED_KERNELS_CPU_LARGE_SCORE_H_

namespace paged {

// A weight is 2^(score * scale - max) with one rounding, as the last digit of
// the product is 5e-7 of a score of 8 and would be as much of the weight. The
// maximum is rounded, so it may be a little above or below the largest score.
// From this score on, in base 2, that little is up to half of the last digit,
// 1/16 and more, and there it is rounded alike instead: otherwise the largest
// weight might be none.
inline constexpr float kLargeScore = 0x1p20f;

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_LARGE_SCORE_H_
