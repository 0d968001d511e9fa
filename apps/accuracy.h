// How far an answer is from the right one, and whether that is near enough.
#ifndef PAGED_APPS_ACCURACY_H_
#define PAGED_APPS_ACCURACY_H_

#include <string>

#include "apps/layer.h"
#include "apps/reference.h"
#include "paged/dtype.h"

namespace paged {

// Relative L2 that a right kernel keeps for each sequence over all its heads.
// Right fp16 kernels are off by up to 2.8e-4 on real data and bf16 ones by up
// to 2.5e-3, while leaving out one token costs fp16 6.6e-4 at least: the data's
// README has both tables.
double ToleranceOf(DType dtype);

// Of an lse, times max(1, |lse|).
inline constexpr double kLseTolerance = 1e-4;

// All finite: what is NaN, or infinite on one side alone, counts as 1e308.
struct Accuracy {
  double max_abs_error = 0;    // of an output
  double max_relative_l2 = 0;  // of a sequence
  bool pass = true;
  std::string failure;  // the first one, in words; empty when it passes
};

// `source` names the right answer in words. An empty `right.output` or
// `right.lse` is not compared.
Accuracy Compare(const Layer& layer, const Answer& answer, const Answer& right,
                 const std::string& source);

// The worse of two comparisons in every respect.
Accuracy WorseOf(const Accuracy& a, const Accuracy& b);

}  // namespace paged

#endif  // PAGED_APPS_ACCURACY_H_
