// The passes of split_k on their own: partials that no attention made.
#include "kernels/cpu/decode_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/core/partition.h"

namespace paged {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr DecodeElements kFloats{ElementKind::kF32, ElementKind::kF32};

// One sequence, one kv head, one row of two dims; partials of `splits` splits.
struct Reduction {
  explicit Reduction(int splits)
      : states(static_cast<std::size_t>(splits)),
        values(static_cast<std::size_t>(2 * splits), kNaN) {
    params.output = {output, 2, 2, 2};
    params.lse = &lse;
    params.partials = {states.data(), values.data()};
    params.num_seqs = 1;
    params.key_dim = params.value_dim = 2;
    params.num_splits = splits;
  }
  void Set(std::size_t split, SoftmaxState state, float v0, float v1) {
    states[split] = state;
    values[2 * split] = v0;
    values[2 * split + 1] = v1;
  }
  void Run() {
    ThreadPool pool(1);
    RunReduceSplits(kFloats, params, pool);
  }

  std::vector<SoftmaxState> states;
  std::vector<float> values;
  float output[2] = {kNaN, kNaN};
  float lse = kNaN;
  DecodeParams params;
};

// BR-016: 0, 1, S - 1 or all S partials empty, with NaN in their values.
TEST(ReduceSplitsTest, EmptyPartialsAreSkippedWhateverTheyHold) {
  for (int splits : {1, 2, 7, 64}) {
    for (int num_live = 0; num_live <= splits; ++num_live) {
      SCOPED_TRACE(::testing::Message() << num_live << " of " << splits);
      Reduction reduction(splits);
      // The live ones last, so that empty ones come first.
      for (int s = splits - num_live; s < splits; ++s) {
        reduction.Set(static_cast<std::size_t>(s), {3.0f, 2.0f}, 4.0f, -8.0f);
      }
      reduction.Run();
      if (num_live == 0) {
        EXPECT_EQ(reduction.output[0], 0.0f);
        EXPECT_EQ(reduction.output[1], 0.0f);
        EXPECT_EQ(reduction.lse, -kInf);
        continue;
      }
      EXPECT_FLOAT_EQ(reduction.output[0], 2.0f);
      EXPECT_FLOAT_EQ(reduction.output[1], -4.0f);
      EXPECT_NEAR(
          reduction.lse,
          (3.0f + std::log2(2.0f * static_cast<float>(num_live))) * kLn2,
          1e-6f);
    }
  }
}

TEST(ReduceSplitsTest, WeighsPartialsByTheirMaxima) {
  Reduction reduction(3);
  // Relative to 5: sums of 1/4, 3 and 1/16; values alike.
  reduction.Set(0, {3.0f, 1.0f}, 1.0f, 0.0f);
  reduction.Set(1, {5.0f, 3.0f}, 6.0f, 3.0f);
  reduction.Set(2, {-1.0f, 4.0f}, 0.0f, 64.0f);
  reduction.Run();
  const float sum = 0.25f + 3.0f + 0.0625f;
  EXPECT_FLOAT_EQ(reduction.output[0], 6.25f / sum);
  EXPECT_FLOAT_EQ(reduction.output[1], 4.0f / sum);
  EXPECT_FLOAT_EQ(reduction.lse, (5.0f + std::log2(sum)) * kLn2);
}

TEST(ReduceSplitsTest, ANaNPartialSpoilsItsRow) {
  Reduction reduction(2);
  reduction.Set(0, {3.0f, 1.0f}, 1.0f, 1.0f);
  reduction.Set(1, {-kInf, kNaN}, kNaN, kNaN);
  reduction.Run();
  EXPECT_TRUE(std::isnan(reduction.output[0]));
  EXPECT_TRUE(std::isnan(reduction.lse));
}

TEST(ReduceSplitsTest, MaximaFarApartNeitherOverflowNorVanish) {
  Reduction reduction(2);
  reduction.Set(0, {3e38f, 1.0f}, 7.0f, 7.0f);
  reduction.Set(1, {-3e38f, 1.0f}, 1.0f, 1.0f);
  reduction.Run();
  EXPECT_EQ(reduction.output[0], 7.0f);
}

// BR-018: what the partition pass leaves for empty splits: a state, and no
// values.
TEST(SplitKTest, EmptySplitsStoreTheirStateAlone) {
  const float query[1] = {0.0f};
  const float pool_data[1] = {5.0f};
  const int32_t table[1] = {0};
  const int32_t context_len[1] = {1};
  std::vector<SoftmaxState> states(4, SoftmaxState{1.0f, 1.0f});
  std::vector<float> values(4, 123.0f);
  DecodeParams p;
  p.query = {const_cast<float*>(query), 1, 1, 1};
  p.key = p.value = {pool_data, 1, 1, 1};
  p.block_tables = table;
  p.block_table_stride = 1;
  p.context_lens = context_len;
  p.partials = {states.data(), values.data()};
  p.num_seqs = p.key_dim = p.value_dim = p.block_size = p.max_context_len = 1;
  p.num_splits = 4;
  p.scale_log2 = 1.0f;
  ThreadPool pool(2);
  RunSplitK(kFloats, p, pool);
  // The only tile belongs to the first split.
  for (std::size_t s = 1; s < 4; ++s) {
    EXPECT_EQ(states[s].max_log2, -kInf);
    EXPECT_EQ(states[s].sum, 0.0f);
    EXPECT_EQ(values[s], 123.0f);
  }
  EXPECT_EQ(states[0].max_log2, 0.0f);
  EXPECT_EQ(states[0].sum, 1.0f);
  EXPECT_EQ(values[0], 5.0f);
}

// Scores of minus infinity alone count as no tokens, in every kernel.
TEST(DecodeKernelsTest, OnlyInfinitelyNegativeScoresGiveZero) {
  const float query[1] = {1.0f};
  const float keys[2] = {-kInf, -kInf};
  const float values[2] = {5.0f, 6.0f};
  const int32_t table[1] = {0};
  const int32_t context_len[1] = {2};
  float output[1] = {kNaN};
  float lse = kNaN;
  DecodeParams p;
  p.query = {const_cast<float*>(query), 1, 1, 1};
  p.key = {keys, 2, 1, 1};
  p.value = {values, 2, 1, 1};
  p.output = {output, 1, 1, 1};
  p.lse = &lse;
  p.block_tables = table;
  p.block_table_stride = 1;
  p.context_lens = context_len;
  p.num_seqs = p.key_dim = p.value_dim = 1;
  p.block_size = p.max_context_len = 2;
  p.scale_log2 = 1.0f;
  ThreadPool pool(1);
  RunV1(kFloats, p, pool);
  EXPECT_EQ(output[0], 0.0f);
  EXPECT_EQ(lse, -kInf);
  output[0] = lse = kNaN;
  RunReference(kFloats, p);
  EXPECT_EQ(output[0], 0.0f);
  EXPECT_EQ(lse, -kInf);
}

}  // namespace
}  // namespace paged
