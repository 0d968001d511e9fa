// What most decode tests end with.
#ifndef PAGED_TESTS_LIB_DECODE_CHECKS_H_
#define PAGED_TESTS_LIB_DECODE_CHECKS_H_

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/decode_session.h"

namespace paged::testing {

// v1, and split_k with each of `splits`: the plan that ran is the one that was
// asked for, and its result is near the oracle.
inline void ExpectRight(BackendKind kind, const Problem& problem,
                        const std::vector<int>& splits = {3}) {
  const Oracle oracle = OracleFor(kind, problem);
  DecodeSession session(kind, problem);
  absl::StatusOr<DecodeResult> v1 = session.Run(ForceV1());
  ASSERT_TRUE(v1.ok()) << v1.status();
  EXPECT_EQ(v1->plan.variant, Variant::kV1);
  EXPECT_TRUE(IsNear(*v1, oracle));
  for (int count : splits) {
    absl::StatusOr<DecodeResult> split_k = session.Run(ForceSplits(count));
    ASSERT_TRUE(split_k.ok()) << split_k.status();
    EXPECT_EQ(split_k->plan.variant, Variant::kSplitK);
    EXPECT_EQ(split_k->plan.num_splits, count);
    EXPECT_TRUE(IsNear(*split_k, oracle));
  }
}

// The plans under which a sequence's bits must not depend on its neighbours.
inline std::vector<DecodeOptions> ForcedPlans() {
  return {ForceV1(), ForceSplits(1), ForceSplits(4), ForceSplits(7)};
}

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_DECODE_CHECKS_H_
