// Shapes that the tests of the library start from.
#ifndef PAGED_TESTS_LIB_SHAPES_H_
#define PAGED_TESTS_LIB_SHAPES_H_

#include "absl/status/status.h"
#include "paged/args.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged::testing {

struct Batch {
  int num_seqs;
  int num_kv_heads;
  int group;
  int context_len;
  int head_dim = 128;
  DType dtype = DType::kF16;
};

// A legal shape of that batch, with blocks of 16 and a dense pool.
inline DecodeShape ShapeOf(const Batch& batch) {
  const int blocks = (batch.context_len + 15) / 16;
  return {.num_seqs = batch.num_seqs,
          .num_q_heads = batch.num_kv_heads * batch.group,
          .num_kv_heads = batch.num_kv_heads,
          .head_dim = batch.head_dim,
          .block_size = 16,
          .num_blocks = int64_t{batch.num_seqs} * blocks + 1,
          .max_blocks_per_seq = blocks,
          .max_context_len = batch.context_len,
          .query_dtype = batch.dtype,
          .kv_dtype = batch.dtype};
}

inline DecodeProblem ProblemOf(const Batch& batch) {
  return ValidateShape(ShapeOf(batch)).value();
}

// Why there is no plan.
inline absl::Status ErrorOf(const DecodeShape& shape,
                            const DeviceProfile& profile,
                            const DecodeOptions& options = {}) {
  return MakePlan(ValidateShape(shape).value(), profile, options).status();
}

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_SHAPES_H_
