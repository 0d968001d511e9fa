#include "kernels/core/visibility.h"

#include <gtest/gtest.h>

#include <climits>
#include <vector>

namespace paged {
namespace {

bool IsSeen(const ScoreRules& rules, int t, int position) {
  if (t > position) return false;
  if (t < rules.sink_tokens) return true;
  if (rules.window > 0 && t <= position - rules.window) return false;
  return rules.chunk == 0 || t / rules.chunk == position / rules.chunk;
}

template <typename Body>
void ForEachRules(const Body& body) {
  for (int window : {0, 1, 7, 16, 40, 1000}) {
    for (int chunk : {0, 1, 13, 16, 64, 1000}) {
      for (int sinks : {0, 1, 15, 16, 17, 40, 1000}) {
        SCOPED_TRACE(::testing::Message() << "window " << window << ", chunk "
                                          << chunk << ", sinks " << sinks);
        body(
            ScoreRules{.window = window, .chunk = chunk, .sink_tokens = sinks});
      }
    }
  }
}

TEST(VisibilityTest, SeesWhatTheRulesSay) {
  ForEachRules([](const ScoreRules& rules) {
    for (int position = -3; position < 200; ++position) {
      const VisibleTokens visible = VisibleTokensAt(rules, position);
      EXPECT_LE(visible.sink_end, visible.begin);
      for (int t = 0; t < 210; ++t) {
        ASSERT_EQ(Sees(visible, t), IsSeen(rules, t, position))
            << t << " from " << position;
      }
    }
  });
}

// BR-109: every row's tokens are in some tile of its item, each tile once, and
// no tile is without one.
TEST(VisibilityTest, AnItemsTilesHoldWhatItsRowsSee) {
  ForEachRules([](const ScoreRules& rules) {
    for (int context_len : {0, 1, 3, 16, 17, 100, 187}) {
      for (int q_len : {1, 2, 5}) {
        DecodeParams p;
        p.num_seqs = 1;
        p.q_len = q_len;
        p.group = 3;
        p.rows_per_item = 4;
        p.num_row_tiles = (NumRows(p) + 3) / 4;
        p.max_context_len = context_len;
        p.context_lens = &context_len;
        p.rules = rules;
        for (int64_t i = 0; i < NumItems(p); ++i) {
          WorkItem item = WholeItemAt(p, i);
          NarrowToVisible(p, item);
          std::vector<int> expected(13);
          for (int row = 0; row < item.num_rows; ++row) {
            const int token = (item.first_row + row) / p.group;
            const int position = context_len - q_len + token;
            for (int t = 0; t < context_len; ++t) {
              if (IsSeen(rules, t, position)) {
                expected[static_cast<std::size_t>(t / kTileTokens)] = 1;
                EXPECT_TRUE(Sees(item.visible, t));
              }
            }
          }
          std::vector<int> tiles(13);
          for (int tile = 0; tile < item.last_tile; ++tile) {
            ++tiles[static_cast<std::size_t>(SequenceTile(item, tile))];
          }
          ASSERT_EQ(tiles, expected);
        }
      }
    }
  });
}

TEST(VisibilityTest, TheLongestContextDoesNotOverflow) {
  const ScoreRules rules{.window = INT_MAX, .chunk = INT_MAX};
  const VisibleTokens visible = VisibleTokensAt(rules, INT_MAX - 1);
  EXPECT_EQ(visible.begin, 0);
  EXPECT_EQ(visible.end, INT_MAX);
  EXPECT_EQ(VisibleTilesOf(visible).num_tiles, 1 << 27);
}

TEST(VisibilityTest, ASinkJoinsTheSumAlone) {
  const float sinks[2] = {0.0f, -INFINITY};
  const ScoreRules rules{.sink_logits = sinks};
  const SoftmaxState state{3.0f, 2.0f};
  const RowEnd with = EndOf(rules, state, 0);
  // 2 * 2^3 + 2^0 = 17, of which values are relative to 2^3.
  EXPECT_FLOAT_EQ(with.factor, 8.0f / 17.0f);
  EXPECT_FLOAT_EQ(with.lse, std::log(17.0f));
  const RowEnd without = EndOf(rules, state, 1);
  EXPECT_EQ(without.factor, InverseSum(state));
  EXPECT_EQ(without.lse, Lse(state));
  EXPECT_EQ(EndOf(rules, SoftmaxState{}, 0).lse, -INFINITY);
  EXPECT_EQ(EndOf(rules, SoftmaxState{}, 0).factor, 0.0f);
}

}  // namespace
}  // namespace paged
