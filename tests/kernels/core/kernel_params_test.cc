#include "kernels/core/kernel_params.h"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>

#include "kernels/core/kv_layout.h"

namespace paged {
namespace {

// BR-033.
static_assert(std::is_same_v<decltype(KvView::block_stride), int64_t>);
static_assert(std::is_same_v<decltype(KvView::slot_stride), int64_t>);
static_assert(std::is_same_v<decltype(KvView::head_stride), int64_t>);
static_assert(std::is_same_v<decltype(RowView::seq_stride), int64_t>);
static_assert(std::is_same_v<decltype(RowView::token_stride), int64_t>);
static_assert(std::is_same_v<decltype(RowView::head_stride), int64_t>);
static_assert(
    std::is_same_v<decltype(DecodeParams::block_table_stride), int64_t>);

DecodeParams SomeParams() {
  DecodeParams p;
  p.num_seqs = 3;
  p.q_len = 2;
  p.num_kv_heads = 5;
  p.group = 7;
  p.rows_per_item = 16;
  return p;
}

// BR-025: no two partial rows share a place, and none is left out.
TEST(KernelParamsTest, PartialRowsAreDisjointAndDense) {
  const DecodeParams p = SomeParams();
  std::set<int64_t> rows;
  for (int64_t partial = 0; partial < 11; ++partial) {
    for (int kv_head = 0; kv_head < p.num_kv_heads; ++kv_head) {
      for (int row = 0; row < p.rows_per_item; ++row) {
        EXPECT_TRUE(rows.insert(PartialRow(p, partial, kv_head, row)).second);
      }
    }
  }
  EXPECT_EQ(*rows.begin(), 0);
  EXPECT_EQ(*rows.rbegin(), 11 * p.num_kv_heads * p.rows_per_item - 1);
}

TEST(KernelParamsTest, RowsNameEveryQueryVectorAndLseOnce) {
  const DecodeParams p = SomeParams();
  std::set<int64_t> indices;
  for (int seq = 0; seq < p.num_seqs; ++seq) {
    for (int kv_head = 0; kv_head < p.num_kv_heads; ++kv_head) {
      for (int row = 0; row < NumRows(p); ++row) {
        const RowPlace place = RowPlaceOf(p, kv_head, row);
        EXPECT_LT(place.token, p.q_len);
        // The q heads of a group are neighbours.
        EXPECT_EQ(place.q_head / p.group, kv_head);
        EXPECT_TRUE(indices.insert(LseIndex(p, seq, place)).second);
      }
    }
  }
  EXPECT_EQ(indices.size(), 3u * 2 * 5 * 7);
  EXPECT_EQ(*indices.rbegin(), 3 * 2 * 5 * 7 - 1);
}

// BR-030, 031, 034, 037: products that wrap in 32 bits, also to zero.
TEST(KvLayoutTest, OffsetsAre64BitFromTheFirstMultiplicationOn) {
  const KvView view{nullptr, int64_t{1} << 31, int64_t{1} << 33,
                    int64_t{1} << 32};
  EXPECT_EQ(OffsetOf(view, 4, 0, 0), int64_t{1} << 33);
  EXPECT_EQ(OffsetOf(view, 0, 3, 0), int64_t{3} << 33);
  EXPECT_EQ(OffsetOf(view, 0, 0, 1), int64_t{1} << 32);
  const KvView dense{nullptr, 61 * 16 * 8 * 128, 8 * 128, 128};
  EXPECT_EQ(OffsetOf(dense, 2147480000, 15, 7),
            2147480000LL * (61 * 16 * 8 * 128) + 15 * 1024 + 7 * 128);
  const RowView rows{nullptr, int64_t{1} << 30, int64_t{1} << 31,
                     int64_t{1} << 32};
  EXPECT_EQ(OffsetOf(rows, 4, 0, 0), int64_t{1} << 32);
  EXPECT_EQ(OffsetOf(rows, 0, 2, 1), int64_t{1} << 33);
}

TEST(KvLayoutTest, PlacesFollowTheBlockSize) {
  for (int block_size : {1, 3, 16, 256}) {
    for (int position = 0; position < 1000; ++position) {
      const SlotPlace place = PlaceOf(position, block_size);
      EXPECT_GE(place.slot, 0);
      EXPECT_LT(place.slot, block_size);
      EXPECT_EQ(place.logical_block * block_size + place.slot, position);
    }
  }
}

}  // namespace
}  // namespace paged
