#include "kernels/core/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace paged {
namespace {

// BR-081.
TEST(PartitionTest, SplitsPartitionAllTilesAndDifferByOneAtMost) {
  DecodeParams p;
  p.num_seqs = 1;
  p.max_context_len = INT_MAX;
  for (int tiles = 0; tiles <= 1000; ++tiles) {
    const int32_t context_len = tiles * kTileTokens;
    p.context_lens = &context_len;
    for (int splits = 1; splits <= 64; ++splits) {
      p.num_splits = splits;
      std::vector<int> visits(static_cast<std::size_t>(tiles));
      int least = INT_MAX;
      int most = 0;
      for (int split = 0; split < splits; ++split) {
        const WorkItem item = SplitItemAt(p, 0, split);
        int count = 0;
        for (int tile = item.first_tile; tile < item.last_tile;
             tile += item.tile_step) {
          ++visits[static_cast<std::size_t>(tile)];
          ++count;
        }
        least = std::min(least, count);
        most = std::max(most, count);
      }
      ASSERT_EQ(std::count(visits.begin(), visits.end(), 1), tiles);
      ASSERT_LE(most - least, 1) << tiles << " tiles, " << splits << " splits";
    }
  }
}

TEST(PartitionTest, TilesOfTheLongestContextDoNotOverflow) {
  EXPECT_EQ(NumTiles(INT_MAX), 1 << 27);
}

TEST(PartitionTest, TilesCoverTheContext) {
  EXPECT_EQ(NumTiles(0), 0);
  EXPECT_EQ(NumTiles(1), 1);
  EXPECT_EQ(NumTiles(16), 1);
  EXPECT_EQ(NumTiles(17), 2);
}

TEST(PartitionTest, LengthsAreClampedToTheCapacity) {
  DecodeParams p;
  p.max_context_len = 100;
  EXPECT_EQ(ClampContextLen(p, INT_MIN), 0);
  EXPECT_EQ(ClampContextLen(p, -1), 0);
  EXPECT_EQ(ClampContextLen(p, 0), 0);
  EXPECT_EQ(ClampContextLen(p, 100), 100);
  EXPECT_EQ(ClampContextLen(p, 101), 100);
  EXPECT_EQ(ClampContextLen(p, INT_MAX), 100);
}

struct Shape {
  int group;
  int q_len;
  int rows_per_item;
  int num_splits;
};

TEST(PartitionTest, ItemsCoverEveryRowOfEveryTileExactlyOnce) {
  const std::vector<int32_t> lens = {0, 1, 16, 17, 100, 999};
  for (const Shape& s : std::vector<Shape>{{1, 1, 1, 1},
                                           {4, 1, 4, 3},
                                           {20, 1, 16, 5},
                                           {71, 1, 16, 64},
                                           {6, 1, 1, 2},
                                           {5, 3, 8, 7}}) {
    DecodeParams p;
    p.num_seqs = static_cast<int>(lens.size());
    p.context_lens = lens.data();
    p.max_context_len = 999;
    p.group = s.group;
    p.q_len = s.q_len;
    p.rows_per_item = s.rows_per_item;
    p.num_row_tiles = (NumRows(p) + s.rows_per_item - 1) / s.rows_per_item;
    p.num_splits = s.num_splits;

    std::map<std::tuple<int, int, int>, int> visits;  // (seq, row, tile)
    std::set<int64_t> partials;
    const int64_t num_partials = NumItems(p) * p.num_splits;
    for (int64_t i = 0; i < num_partials; ++i) {
      const WorkItem item =
          SplitItemAt(p, i / p.num_splits, static_cast<int>(i % p.num_splits));
      ASSERT_GE(item.num_rows, 1);
      ASSERT_LE(item.num_rows, p.rows_per_item);
      EXPECT_TRUE(partials.insert(item.partial).second);
      ASSERT_LT(item.partial, num_partials);
      for (int row = 0; row < item.num_rows; ++row) {
        for (int tile = item.first_tile; tile < item.last_tile;
             tile += item.tile_step) {
          ++visits[{item.table_row, item.first_row + row, tile}];
        }
      }
    }
    std::size_t expected = 0;
    for (int32_t len : lens) {
      expected += static_cast<std::size_t>(NumTiles(len) * NumRows(p));
    }
    EXPECT_EQ(visits.size(), expected);
    for (const auto& [place, count] : visits) {
      ASSERT_EQ(count, 1);
      ASSERT_LT(std::get<1>(place), NumRows(p));
    }
  }
}

TEST(PartitionTest, TheWholeOfASequenceIsItsOnlySplit) {
  const std::vector<int32_t> lens = {0, 16, 33, -5, 4000};
  DecodeParams p;
  p.num_seqs = static_cast<int>(lens.size());
  p.context_lens = lens.data();
  p.max_context_len = 100;
  p.group = 20;
  p.rows_per_item = 10;
  p.num_row_tiles = 2;
  for (int64_t i = 0; i < NumItems(p); ++i) {
    const WorkItem whole = WholeItemAt(p, i);
    const WorkItem split = SplitItemAt(p, i, 0);
    EXPECT_EQ(whole.table_row, split.table_row);
    EXPECT_EQ(whole.context_len, split.context_len);
    EXPECT_EQ(whole.first_row, split.first_row);
    EXPECT_EQ(whole.num_rows, split.num_rows);
    EXPECT_EQ(whole.first_tile, split.first_tile);
    EXPECT_EQ(whole.last_tile, split.last_tile);
    EXPECT_EQ(whole.tile_step, split.tile_step);
  }
}

// The reduction finds split s of an item at SplitPartials + s.
TEST(PartitionTest, PartialsOfOneRowTileAreNeighboursInSplitOrder) {
  const std::vector<int32_t> lens = {500, 3};
  DecodeParams p;
  p.num_seqs = 2;
  p.context_lens = lens.data();
  p.max_context_len = 500;
  p.group = 40;
  p.rows_per_item = 16;
  p.num_row_tiles = 3;
  p.num_splits = 5;
  std::map<std::pair<int, int>, std::vector<WorkItem>> by_rows;
  for (int64_t i = 0; i < NumItems(p); ++i) {
    for (int split = 0; split < p.num_splits; ++split) {
      const WorkItem item = SplitItemAt(p, i, split);
      by_rows[{item.table_row, item.first_row / 16}].push_back(item);
    }
  }
  ASSERT_EQ(by_rows.size(), 6u);
  for (auto& [key, items] : by_rows) {
    std::sort(items.begin(), items.end(),
              [](const WorkItem& a, const WorkItem& b) {
                return a.partial < b.partial;
              });
    for (std::size_t s = 0; s < items.size(); ++s) {
      EXPECT_EQ(
          items[s].partial,
          SplitPartials(p, key.first * p.num_row_tiles + key.second).first +
              static_cast<int64_t>(s));
      EXPECT_EQ(items[s].first_tile, static_cast<int>(s));
    }
  }
}

}  // namespace
}  // namespace paged
