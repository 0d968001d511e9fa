// The gate between what a caller says and what the planner accepts.
//
// Example:
//
//     paged::DecodeShape shape{.num_seqs = 1,
//                              .num_q_heads = 10,
//                              .num_kv_heads = 4,
//                              .head_dim = 64};
//     absl::Status status = paged::ValidateShape(shape).status();
//     CHECK_EQ(status.message(),
//              "num_q_heads must be a multiple of num_kv_heads; got 10 and 4");
#ifndef PAGED_LIB_PAGED_VALIDATE_H_
#define PAGED_LIB_PAGED_VALIDATE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/args.h"

namespace paged {

// A shape that keeps every rule, its defaults filled in. Only ValidateShape
// and Validate make one, and MakePlan takes nothing else, so what was not
// checked cannot be planned.
class DecodeProblem {
 public:
  const DecodeShape& shape() const { return shape_; }

  // q heads per kv head.
  int group() const { return shape_.num_q_heads / shape_.num_kv_heads; }
  // Query vectors that share one read of a kv head.
  int rows() const { return shape_.q_len * group(); }
  // Tokens that the cost model assumes for every sequence.
  int expected_context_len() const { return shape_.expected_context_len; }

 private:
  friend absl::StatusOr<DecodeProblem> ValidateShape(const DecodeShape& shape);
  explicit DecodeProblem(const DecodeShape& shape) : shape_(shape) {}
  DecodeShape shape_;
};

// Checks counts, dims, capacities, dtypes and strides, on any device.
// InvalidArgument for a broken rule. What a device does not serve is for
// MakePlan to say.
absl::StatusOr<DecodeProblem> ValidateShape(const DecodeShape& shape);

// ValidateShape, and no pointer is null that will be read or written, nor is
// one given that the shape says nothing of.
absl::StatusOr<DecodeProblem> Validate(const DecodeArgs& args);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_VALIDATE_H_
