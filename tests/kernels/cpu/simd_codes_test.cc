// Queries of floats over codes of int8, on every instruction set that this
// processor has.
#include <gtest/gtest.h>

#include "tests/kernels/cpu/simd_agreement.h"

namespace paged::testing {
namespace {

// Codes up to 120. Dot products of 16-bit integers: 2^-16 of the largest query
// in each element, and of the largest weight in each.
TEST(SimdCodesTest, AgreeWithTheScalarKernels) {
  for (int group : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
    for (int dim : {1, 7, 8, 15, 16, 24, 31, 33, 64, 80, 128, 600}) {
      const SimdCase c{.group = group,
                       .key_dim = dim,
                       .value_dim = dim,
                       .splits = dim % 3 + 1};
      SCOPED_TRACE(::testing::Message()
                   << "group " << group << ", dim " << dim);
      SimdTensors<float, Int8> tensors(c);
      ExpectAgree(c, tensors, 0.01f, 1e-4f);
    }
  }
}

// All products of a long row at their largest: their sum has 31 bits.
TEST(SimdCodesTest, SumsOfLongRowsDoNotOverflow) {
  for (int group : {1, 2, 4, 8}) {
    const SimdCase c{.group = group, .key_dim = 700, .value_dim = 8};
    SimdTensors<float, Int8> tensors(c);
    for (int d = 0; d < 700; ++d) {
      for (int q_head = 0; q_head < group; ++q_head) {
        tensors.query(q_head, d) = 1.0f;
      }
      tensors.key(40, 0, d) = Int8{127};
    }
    SCOPED_TRACE(group);
    ExpectAgree(c, tensors, 0.01f, 1e-4f);
  }
}

// What is small beside others of its row, or nothing at all, stays right.
TEST(SimdCodesTest, AgreeForQueriesOfAnyMagnitude) {
  const SimdCase c{.group = 6, .key_dim = 40, .value_dim = 40};
  for (float magnitude : {0.0f, 1e-42f, 1e-30f, 1e30f, kInf, kNaN}) {
    SimdTensors<float, Int8> tensors(c);
    for (int q_head = 6; q_head < 9; ++q_head) {
      for (int d = 0; d < 40; ++d) tensors.query(q_head, d) *= magnitude;
    }
    SCOPED_TRACE(magnitude);
    ExpectAgree(c, tensors, 0.01f, 1e-4f);
  }
}

}  // namespace
}  // namespace paged::testing
