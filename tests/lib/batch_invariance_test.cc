// A sequence's bits in any batch, under any capacity, on any number of threads.
#include <gtest/gtest.h>

#include <vector>

#include "paged/decode.h"
#include "tests/lib/decode_checks.h"
#include "tests/lib/shapes.h"

namespace paged::testing {
namespace {

DecodeOptions Invariant() {
  DecodeOptions options;
  options.batch_invariance = BatchInvariance::kOn;
  return options;
}

// What decides the bits of a row.
void ExpectSameDecision(const DecodePlan& a, const DecodePlan& b) {
  EXPECT_EQ(a.variant, b.variant);
  EXPECT_EQ(a.partition, b.partition);
  EXPECT_EQ(a.num_splits, b.num_splits);
  EXPECT_EQ(a.instance, b.instance);
  EXPECT_EQ(a.rows_per_item, b.rows_per_item);
}

TEST(BatchInvarianceTest, PlansDependOnNoCount) {
  for (DeviceProfile profile : {H200Profile(), CpuProfile(2)}) {
    const auto plan_of = [&](int num_seqs, int context_len, int num_units) {
      profile.num_units = num_units;
      const DecodeProblem problem = ProblemOf({.num_seqs = num_seqs,
                                               .num_kv_heads = 4,
                                               .group = 4,
                                               .context_len = context_len});
      return MakePlan(problem, profile, Invariant()).value();
    };
    const DecodePlan first = plan_of(1, 100, 132);
    EXPECT_EQ(first.num_splits, kInvariantSplits);
    EXPECT_EQ(first.decided_by, DecidedBy::kBatchInvariance);
    for (int num_seqs : {1, 7, 300}) {
      for (int context_len : {1, 5000, 131072}) {
        for (int num_units : {1, 60, 132, 264}) {
          ExpectSameDecision(plan_of(num_seqs, context_len, num_units), first);
        }
      }
    }
  }
}

TEST(BatchInvarianceTest, LeavesNothingElseToChoose) {
  for (auto edit : std::vector<void (*)(DecodeOptions&)>{
           [](DecodeOptions& o) { o.variant = Variant::kV1; },
           [](DecodeOptions& o) { o.splits = 4; },
           [](DecodeOptions& o) { o.partition = Partition::kChunks; },
           [](DecodeOptions& o) {
             o.instance = {4, 2};
           }}) {
    DecodeOptions options = Invariant();
    edit(options);
    EXPECT_EQ(
        ResolveOptions(options).status().message(),
        "batch_invariance must be off with a variant, splits, a partition "
        "or an instance; got on");
  }
}

using BatchInvarianceBackendTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, BatchInvarianceBackendTest,
                         ::testing::ValuesIn(CpuCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, BatchInvarianceBackendTest,
                         ::testing::ValuesIn(CudaCases()), CaseName);

// BR-180.
TEST_P(BatchInvarianceBackendTest, ASequencesBitsAreItsOwn) {
  ProblemSpec spec{.dtype = dtype(),
                   .head_dim = 64,
                   .context_lens = {17, 0, 300, 1, 64, 131}};
  const Problem batch = MakeProblem(spec);
  const DecodeResult together = RunOnce(kind(), batch, Invariant());
  EXPECT_TRUE(IsNear(together, OracleFor(kind(), batch)));
  for (int capacity : {0, 1000, 20000}) {
    spec.max_context_len = capacity;
    for (int seq = 0; seq < batch.num_seqs(); ++seq) {
      EXPECT_TRUE(BitEqual(RunOnce(kind(), SoloProblem(spec, seq), Invariant()),
                           RowsOf(together, batch, seq)))
          << "sequence " << seq << ", capacity " << capacity;
    }
  }
}

// Seventy neighbours, with the same sequence among them.
TEST_P(BatchInvarianceBackendTest, ManyNeighboursChangeNoBit) {
  ProblemSpec spec{.dtype = dtype(), .head_dim = 64, .context_lens = {333}};
  const DecodeResult alone = RunOnce(kind(), MakeProblem(spec), Invariant());
  spec.context_lens.clear();
  for (int i = 0; i < 70; ++i) {
    spec.context_lens.push_back(i == 41 ? 333 : 1 + i * 3);
    spec.content_ids.push_back(i == 41 ? 0 : i + 1);
  }
  const Problem batch = MakeProblem(spec);
  EXPECT_TRUE(
      BitEqual(RowsOf(RunOnce(kind(), batch, Invariant()), batch, 41), alone));
}

}  // namespace
}  // namespace paged::testing
