#include "benchmarks/cliffs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace paged::benchmarks {
namespace {

constexpr double kBytesPerUs = 4e6;

// Every shape at one time per byte, but for those that `factor` says.
template <typename Factor>
std::vector<TimedShape> TimeCliffShapes(Factor factor) {
  std::vector<TimedShape> timed;
  for (const BenchShape& shape : CliffShapes()) {
    timed.push_back({shape, static_cast<double>(shape.kv_bytes()) /
                                kBytesPerUs * factor(shape)});
  }
  return timed;
}

TEST(CliffsTest, AnEvenTimePerByteHasNone) {
  const Cliffs cliffs =
      FindCliffs(TimeCliffShapes([](const BenchShape&) { return 1.0; }));
  EXPECT_NEAR(cliffs.batch.per_byte, 1, 1e-9);
  EXPECT_NEAR(cliffs.block_size.per_byte, 1, 1e-9);
  EXPECT_NEAR(cliffs.order.per_byte, 1, 1e-9);
}

TEST(CliffsTest, TheWorstOfEachKindIsFound) {
  const Cliffs cliffs = FindCliffs(TimeCliffShapes([](const BenchShape& s) {
    if (s.max_context_len() == 2048) return s.num_seqs() == 133 ? 1.5 : 1.0;
    if (s.block_size == 8) return s.has_ordered_blocks ? 1.2 : 1.3;
    return 1.0;
  }));
  EXPECT_NEAR(cliffs.batch.per_byte, 1.5, 1e-9);
  EXPECT_EQ(cliffs.batch.shape.num_seqs(), 133);
  EXPECT_EQ(cliffs.batch.neighbour.num_seqs(), 132);
  EXPECT_NEAR(cliffs.block_size.per_byte, 1.3, 1e-9);
  EXPECT_EQ(cliffs.block_size.shape.block_size, 8);
  EXPECT_EQ(cliffs.block_size.neighbour.block_size, 16);
  EXPECT_NEAR(cliffs.order.per_byte, 1.3 / 1.2, 1e-9);
  EXPECT_NE(DescribeCliffs(cliffs).find(
                "one more sequence: at worst 1.500 per byte: fp16/b:133/"),
            std::string::npos);
}

// A batch that takes less than a smaller one is no cliff, nor is one that is
// several sequences larger.
TEST(CliffsTest, OnlyTheNextLargerBatchCounts) {
  std::vector<TimedShape> timed = {{Uniform(4, 2048, 8, 4), 30},
                                   {Uniform(6, 2048, 8, 4), 90},
                                   {Uniform(3, 2048, 8, 4), 30}};
  const Cliffs cliffs = FindCliffs(timed);
  EXPECT_NEAR(cliffs.batch.per_byte, 0.75, 1e-9);
  EXPECT_EQ(cliffs.batch.shape.num_seqs(), 4);
}

TEST(CliffsTest, WhatFailedOrIsMissingIsSaid) {
  const Cliffs cliffs =
      FindCliffs({{Uniform(4, 2048, 8, 4), 0}, {Uniform(5, 2048, 8, 4), 30}});
  EXPECT_EQ(cliffs.batch.per_byte, 0);
  EXPECT_EQ(DescribeCliffs(cliffs),
            "one more sequence: not measured\n"
            "another block size than 16: not measured\n"
            "shuffled against ordered blocks: not measured\n");
}

}  // namespace
}  // namespace paged::benchmarks
