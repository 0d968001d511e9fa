// What most decode tests end with.
#ifndef PAGED_TESTS_LIB_DECODE_CHECKS_H_
#define PAGED_TESTS_LIB_DECODE_CHECKS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "paged/decode.h"
#include "tests/support/decode_session.h"

namespace paged::testing {

// Skips, with the field that is not built, where the backend lacks one.
#define PAGED_SKIP_UNBUILT(problem)                                   \
  if (const absl::Status status =                                     \
          PlanDecode((problem).shape, backend(), ForceV1()).status(); \
      absl::IsUnimplemented(status)) {                                \
    GTEST_SKIP() << status;                                           \
  }                                                                   \
  static_assert(true)

// The ways in which this backend can merge that many splits of so many
// (sequence, kv head, row tile) triples.
inline std::vector<Reduction> ReductionsOf(const Backend& backend,
                                           int num_splits,
                                           int64_t num_triples = 1) {
  std::vector<Reduction> reductions = {Reduction::kSecondPass};
  const DeviceProfile& profile = backend.profile();
  if (profile.kind == DeviceKind::kCpu) return reductions;
  // It counts arrivals in a control area of 64 KiB.
  if (num_triples <= 16384) reductions.push_back(Reduction::kLastCta);
  if (profile.compute_capability >= 90 && num_splits <= kMaxSplitsOfCluster) {
    reductions.push_back(Reduction::kCluster);
  }
  return reductions;
}

inline int64_t NumTriples(const DecodePlan& plan) {
  return int64_t{plan.shape.num_seqs} * plan.shape.num_kv_heads *
         plan.num_row_tiles;
}

// v1, the chunks of a schedule, and split_k with each of `splits` under every
// reduction: the plan that ran is the one that was asked for, its result is
// near the oracle, and no bit depends on the reduction.
inline void ExpectRight(BackendKind kind, const Problem& problem,
                        const std::vector<int>& splits = {3}) {
  const Oracle oracle = OracleFor(kind, problem);
  DecodeSession session(kind, problem);
  absl::StatusOr<DecodeResult> v1 = session.Run(ForceV1());
  ASSERT_TRUE(v1.ok()) << v1.status();
  EXPECT_EQ(v1->plan.variant, Variant::kV1);
  EXPECT_TRUE(IsNear(*v1, oracle));
  absl::StatusOr<DecodeResult> chunks = session.Run(ForceChunks());
  ASSERT_TRUE(chunks.ok()) << chunks.status();
  EXPECT_EQ(chunks->plan.partition, Partition::kChunks);
  EXPECT_TRUE(IsNear(*chunks, oracle));
  for (int count : splits) {
    absl::StatusOr<DecodeResult> first;
    for (Reduction reduction :
         ReductionsOf(session.backend(), count, NumTriples(v1->plan))) {
      DecodeOptions options = ForceSplits(count);
      options.reduction = reduction;
      if (first.ok() && first->plan.instance.warps != 0) {
        options.instance = {first->plan.instance.warps,
                            first->plan.instance.stages};
      }
      absl::StatusOr<DecodeResult> split_k = session.Run(options);
      ASSERT_TRUE(split_k.ok()) << split_k.status();
      EXPECT_EQ(split_k->plan.variant, Variant::kSplitK);
      EXPECT_EQ(split_k->plan.num_splits, count);
      EXPECT_EQ(split_k->plan.reduction, reduction);
      if (!first.ok()) {
        EXPECT_TRUE(IsNear(*split_k, oracle));
        first = std::move(split_k);
      } else {
        EXPECT_TRUE(BitEqual(*split_k, *first)) << NameOf(reduction);
      }
    }
  }
}

// The plans under which a sequence's bits must not depend on its neighbours.
inline std::vector<DecodeOptions> ForcedPlans(const Backend& backend) {
  std::vector<DecodeOptions> plans = {ForceV1(), ForceSplits(1),
                                      ForceSplits(7)};
  for (Reduction reduction : ReductionsOf(backend, 4)) {
    plans.push_back(ForceSplits(4));
    plans.back().reduction = reduction;
  }
  return plans;
}

// Under every forced plan, each sequence alone gives the bits that it has in
// the batch; `what` names the batch.
inline void ExpectAloneAsInTheBatch(BackendKind kind, const Backend& backend,
                                    const ProblemSpec& spec,
                                    const Problem& batch,
                                    const std::string& what = "") {
  for (const DecodeOptions& options : ForcedPlans(backend)) {
    const DecodeResult together = RunOnce(kind, batch, options);
    for (int seq = 0; seq < batch.num_seqs(); ++seq) {
      EXPECT_TRUE(BitEqual(RunOnce(kind, SoloProblem(spec, seq), options),
                           RowsOf(together, batch, seq)))
          << what << ", sequence " << seq;
    }
  }
}

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_DECODE_CHECKS_H_
