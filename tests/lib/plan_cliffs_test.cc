// What the planner predicts from one shape to its neighbour: no cliffs.
#include <gtest/gtest.h>

#include <vector>

#include "paged/plan.h"
#include "tests/lib/shapes.h"

namespace paged::testing {
namespace {

DecodePlan PlanOf(const DecodeShape& shape) {
  return MakePlan(ValidateShape(shape).value(), H200Profile(), {}).value();
}

double UsPerByte(const DecodePlan& plan) {
  return plan.predicted_us / static_cast<double>(plan.kv_bytes);
}

// BR-170: time per byte, from 1 to 256 sequences.
TEST(PlanCliffsTest, OneMoreSequenceIsNoCliff) {
  for (int num_kv_heads : {1, 8}) {
    for (int context_len : {4096, 32768}) {
      Batch batch = {1, num_kv_heads, 4, context_len};
      double before = UsPerByte(PlanOf(ShapeOf(batch)));
      for (batch.num_seqs = 2; batch.num_seqs <= 256; ++batch.num_seqs) {
        const double us_per_byte = UsPerByte(PlanOf(ShapeOf(batch)));
        EXPECT_LE(us_per_byte, 1.25 * before)
            << batch.num_seqs << " x " << context_len << ", " << num_kv_heads;
        before = us_per_byte;
      }
    }
  }
}

// BR-172: the query tokens of a sequence read K and V once, and are split as
// one would be.
TEST(PlanCliffsTest, SeveralQueryTokensCostAboutOne) {
  for (int num_seqs : {1, 4, 16, 64}) {
    DecodeShape shape = ShapeOf({num_seqs, 8, 4, 32768});
    const double one_us = PlanOf(shape).predicted_us;
    for (int q_len : {2, 3, 4, 8}) {
      shape.q_len = q_len;
      EXPECT_LE(PlanOf(shape).predicted_us, 2 * one_us)
          << num_seqs << " sequences, " << q_len << " query tokens";
    }
  }
}

// BR-173: lengths ask for splits, query tokens do not.
TEST(PlanCliffsTest, TwiceTheContextHasNoFewerSplits) {
  for (int num_seqs : {1, 2, 4, 8, 16}) {
    int before = 1;
    for (int context_len = 16; context_len <= 1 << 20; context_len *= 2) {
      const DecodePlan plan = PlanOf(ShapeOf({num_seqs, 8, 4, context_len}));
      EXPECT_GE(plan.num_splits, before) << num_seqs << " x " << context_len;
      before = plan.num_splits;
    }
    EXPECT_EQ(PlanOf(ShapeOf({num_seqs, 8, 4, 16})).num_splits, 1);
  }
  EXPECT_GT(PlanOf(ShapeOf({1, 8, 4, 1 << 20})).num_splits, 8);
  DecodeShape shape = ShapeOf({1, 8, 4, 16});
  shape.q_len = 16;
  EXPECT_EQ(PlanOf(shape).num_splits, 1);
}

}  // namespace
}  // namespace paged::testing
