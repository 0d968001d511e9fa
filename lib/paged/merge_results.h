// Two results of the same queries over disjoint tokens become the result over
// all of them: a prefix that sequences share, read once for all, and what each
// has of its own; or the parts of a context on several devices.
//
// Example:
//
//     // One row of two dims: weights e^0 and e^0 * 3 over the two sides.
//     std::vector<float> prefix = {1.0f, 5.0f}, prefix_lse = {0.0f};
//     std::vector<float> suffix = {9.0f, 5.0f}, suffix_lse = {std::log(3.0f)};
//     paged::MergeArgs args{.num_rows = 1,
//                           .dim = 2,
//                           .dtype = paged::DType::kF32,
//                           .first_output = prefix.data(),
//                           .first_lse = prefix_lse.data(),
//                           .second_output = suffix.data(),
//                           .second_lse = suffix_lse.data(),
//                           .output = prefix.data(),
//                           .lse = prefix_lse.data()};
//     CHECK_OK(paged::MakeCpuBackend()->MergeResults(args, nullptr));
//     CHECK_LT(std::abs(prefix[0] - 7.0f), 1e-5f);
//     CHECK_LT(std::abs(prefix_lse[0] - std::log(4.0f)), 1e-5f);
#ifndef PAGED_LIB_PAGED_MERGE_RESULTS_H_
#define PAGED_LIB_PAGED_MERGE_RESULTS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "paged/dtype.h"

namespace paged {

// Dense rows of the backend's memory, as a run leaves them: outputs [num_rows,
// dim], and lses [num_rows] in natural logarithms. More than two results are
// merged one after another, in any order.
//
// A row whose lse is minus infinity saw no token: it is not read, whatever it
// holds, and the other one is the result to the bit. With sink_logits, exactly
// one of the two has them.
struct MergeArgs {
  int64_t num_rows = 0;  // query tokens times q heads
  int dim = 0;           // value_dim
  DType dtype = DType::kF16;

  const void* first_output = nullptr;
  const float* first_lse = nullptr;
  const void* second_output = nullptr;
  const float* second_lse = nullptr;

  void* output = nullptr;  // may be first_output or second_output
  float* lse = nullptr;    // may be first_lse or second_lse; optional
};

// InvalidArgument names field, rule and value.
absl::Status ValidateMerge(const MergeArgs& args);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_MERGE_RESULTS_H_
