#include "benchmarks/shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "benchmarks/sample_oracle.h"
#include "paged/block_table.h"

namespace paged::benchmarks {
namespace {

BenchShape SmallShape() {
  BenchShape shape;
  shape.context_lens = {33, 7};
  shape.num_kv_heads = 2;
  shape.group = 2;
  shape.head_dim = 8;
  return shape;
}

TEST(BenchShapesTest, NamesAreThoseThatOtherProgramsLookUp) {
  BenchShape shape;
  shape.context_lens.assign(8, 4096);
  shape.num_kv_heads = 8;
  shape.group = 4;
  EXPECT_EQ(RowName("split_k", shape, Cache::kCold),
            "decode/split_k/fp16/b:8/ctx:4096/hkv:8/g:4/d:128/bs:16/l2:cold");
  shape.lens_name = "uniform_100_1000";
  EXPECT_EQ(RowName("gather", shape, Cache::kWarm),
            "decode/gather/fp16/b:8/lens:uniform_100_1000/hkv:8/g:4/d:128/"
            "bs:16/l2:warm");
}

TEST(BenchShapesTest, NamesSayEveryFeature) {
  BenchShape shape = SmallShape();
  const std::string plain = "fp16/b:2/ctx:33/hkv:2/g:2/d:8/bs:16";
  EXPECT_EQ(ShapeName(shape), plain);
  shape.rules = {.q_len = 8,
                 .has_ragged_tokens = true,
                 .has_tree_masks = true,
                 .sink_tokens = 4,
                 .has_bias = true};
  shape.own_query_dtype = DType::kF32;
  shape.scales = ScaleGranularity::kToken;
  EXPECT_EQ(ShapeName(shape), plain +
                                  "/q:8/tokens:ragged/tree/sink_tokens:4/"
                                  "bias/scales:token/query:fp32");
  shape = SmallShape();
  shape.value_dim = 16;
  EXPECT_EQ(ShapeName(shape), "fp16/b:2/ctx:33/hkv:2/g:2/d:8/dv:16/bs:16");
}

TEST(BenchShapesTest, CountsTrueLengthsOncePerKvHead) {
  EXPECT_EQ(SmallShape().kv_bytes(), (33 + 7) * 2 * 8 * 2 * 2);
}

TEST(BenchShapesTest, CountsValuesByTheirOwnDimension) {
  BenchShape shape = SmallShape();
  shape.value_dim = 16;
  EXPECT_EQ(shape.kv_bytes(), (33 + 7) * 2 * (8 + 16) * 2);
}

// The window of the first query token begins before that of the last one; sink
// tokens count where the window does not hold them.
TEST(BenchShapesTest, CountsTokensThatSomeQueryTokenSees) {
  BenchShape shape = SmallShape();
  shape.rules = {.q_len = 3, .window = 10, .sink_tokens = 4};
  EXPECT_EQ(shape.kv_bytes(), (10 + 2 + 4 + 7) * 2 * 8 * 2 * 2);
}

TEST(BenchShapesTest, RaggedQueryTokensAreOneToQLen) {
  BenchShape shape = Uniform(64, 100, 2, 2);
  shape.rules = {.q_len = 8, .has_ragged_tokens = true};
  std::set<int> q_lens;
  int64_t first = 0;
  for (int seq = 0; seq < 64; ++seq) {
    EXPECT_EQ(shape.first_query_token(seq), first);
    first += shape.q_len(seq);
    q_lens.insert(shape.q_len(seq));
  }
  EXPECT_EQ(shape.num_query_tokens(), first);
  EXPECT_EQ(q_lens, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(BenchShapesTest, NoTwoShapesShareAName) {
  for (const auto& shapes : {GpuShapes(), CpuShapes(), SweepShapes(),
                             HostShapes(), InvariantShapes()}) {
    std::set<std::string> names;
    for (const BenchShape& shape : shapes) names.insert(ShapeName(shape));
    EXPECT_EQ(names.size(), shapes.size());
  }
}

// The GPU's rows have an automatic one beside each.
TEST(BenchShapesTest, InvariantShapesAreAmongTheOthers) {
  std::set<std::string> names;
  for (const BenchShape& shape : GpuShapes()) names.insert(ShapeName(shape));
  for (const BenchShape& shape : InvariantShapes()) {
    EXPECT_TRUE(names.contains(ShapeName(shape))) << ShapeName(shape);
  }
}

TEST(BenchShapesTest, CliffsAreEveryBatchAndEveryBlockSizeInBothOrders) {
  std::set<std::string> names;
  std::set<int> batches;
  std::set<std::tuple<int, bool, bool>> blocks;
  for (const BenchShape& shape : CliffShapes()) {
    names.insert(ShapeName(shape));
    if (shape.max_context_len() == 2048) batches.insert(shape.num_seqs());
    if (shape.max_context_len() == 4096) {
      EXPECT_TRUE(VariesBlocks(shape)) << ShapeName(shape);
      const bool has_rules = shape.rules != BenchRules{};
      blocks.insert({shape.block_size, shape.has_ordered_blocks, has_rules});
    }
  }
  EXPECT_EQ(names.size(), 256u + 28u);
  EXPECT_EQ(batches.size(), 256u);
  EXPECT_EQ(*batches.rbegin(), 256);
  EXPECT_EQ(blocks.size(), 28u);
}

TEST(BenchShapesTest, OrderedBlocksAreNeighboursAndShuffledOnesAreNot) {
  BenchShape shape = Uniform(3, 300, 2, 2);
  const auto count_neighbours = [&shape] {
    const BenchTables tables = MakeTables(shape, 0);
    int neighbours = 0;
    for (int row = 0; row < tables.table.num_seqs(); ++row) {
      const auto blocks = tables.table.row(row);
      for (std::size_t i = 1; i < blocks.size(); ++i) {
        neighbours += blocks[i] == blocks[i - 1] + 1;
      }
    }
    return neighbours;
  };
  EXPECT_LT(count_neighbours(), 20);
  shape.has_ordered_blocks = true;
  EXPECT_EQ(count_neighbours(), 2 * 3 * 18);
}

TEST(BenchShapesTest, RaggedLengthsLieInTheirRange) {
  for (const BenchShape& shape : GpuShapes()) {
    if (shape.lens_name != "uniform_100_1000") continue;
    const auto [least, most] = std::minmax_element(shape.context_lens.begin(),
                                                   shape.context_lens.end());
    EXPECT_GE(*least, 100);
    EXPECT_LE(*most, 1000);
    EXPECT_NE(*least, *most);
  }
}

TEST(BenchShapesTest, SetsRotateThroughEnoughMemoryWithoutSharingABlock) {
  const BenchShape shape = SmallShape();
  const BenchTables tables = MakeTables(shape, 10 * shape.kv_bytes() - 1);
  EXPECT_EQ(tables.num_sets, 10);
  std::set<int32_t> blocks;
  std::size_t num_entries = 0;
  for (int row = 0; row < tables.table.num_seqs(); ++row) {
    for (const int32_t block : tables.table.row(row)) {
      if (block < 0) continue;
      blocks.insert(block);
      ++num_entries;
    }
  }
  EXPECT_EQ(num_entries, 10u * (3 + 1));
  EXPECT_EQ(blocks.size(), num_entries);
}

// The oracle's own check: a row is refused for a NaN and for a wrong number.
TEST(SampleOracleTest, RefusesWhatIsNotTheResult) {
  const BenchShape shape = SmallShape();
  const std::vector<SampleRow> samples =
      ComputeSamples(shape, MakeTables(shape, 0));
  const std::vector<uint16_t> nan(2 * 4 * 8, 0xffff);
  const std::vector<uint16_t> zero(2 * 4 * 8, 0);
  const std::vector<float> lse(2 * 4, 0.0f);
  EXPECT_NE(
      RefusalOf(shape, LargestError(samples, shape, nan.data(), lse.data())),
      "");
  EXPECT_NE(
      RefusalOf(shape, LargestError(samples, shape, zero.data(), lse.data())),
      "");
  EXPECT_EQ(RefusalOf(shape, 1e-3), "");
}

TEST(SampleOracleTest, RelativeErrorIsThatOfTheWorstRow) {
  const BenchShape shape = SmallShape();
  const std::vector<SampleRow> samples =
      ComputeSamples(shape, MakeTables(shape, 0));
  std::vector<float> output(2 * 4 * 8, std::nanf(""));
  for (const SampleRow& sample : samples) {
    for (size_t d = 0; d < 8; ++d) {
      output[static_cast<size_t>(sample.row) * 8 + d] =
          static_cast<float>(sample.output[d]);
    }
  }
  const auto error = [&] {
    return LargestRelativeError(samples, DType::kF32, output.data());
  };
  EXPECT_LT(error(), 1e-7);
  float* const row = &output[static_cast<size_t>(samples[1].row) * 8];
  for (int d = 0; d < 8; ++d) row[d] *= 1.25f;
  EXPECT_NEAR(error(), 0.25, 1e-6);
  row[3] = std::nanf("");
  EXPECT_EQ(error(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace paged::benchmarks
