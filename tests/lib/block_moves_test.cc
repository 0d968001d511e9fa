// What a GPU does at once and what it does in order, of copies that are meant
// to happen all at once. On a CPU moves are done one by one, so that only the
// order itself can be wrong there.
#include "paged/internal/block_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace paged::internal {
namespace {

using Pool = std::vector<int32_t>;  // what each block holds

Pool Fresh(int32_t num_blocks) {
  Pool pool(static_cast<std::size_t>(num_blocks));
  std::iota(pool.begin(), pool.end(), 0);
  return pool;
}

int32_t& At(Pool& pool, int32_t block) {
  return pool[static_cast<std::size_t>(block)];
}

Pool AllAtOnce(const std::vector<BlockCopy>& copies, int32_t num_blocks) {
  Pool pool = Fresh(num_blocks);
  for (const BlockCopy& copy : copies) {
    At(pool, copy.destination) = copy.source;
  }
  return pool;
}

void Move(const ChainedMove& move, Pool& pool) {
  int32_t& source = At(pool, move.blocks.source);
  int32_t& destination = At(pool, move.blocks.destination);
  if (move.swaps) {
    std::swap(source, destination);
  } else {
    destination = source;
  }
}

bool Touches(const BlockMove& move, int32_t block) {
  return move.source == block || move.destination == block;
}

// Nothing else touches what an apart move writes, and nothing writes what it
// reads: any order, and any overlap in time, gives the same blocks.
void ExpectApart(const OrderedMoves& moves) {
  for (std::size_t i = 0; i < moves.apart.size(); ++i) {
    const BlockMove& move = moves.apart[i];
    for (std::size_t k = 0; k < moves.apart.size(); ++k) {
      if (k == i) continue;
      EXPECT_FALSE(Touches(moves.apart[k], move.destination))
          << move.source << " to " << move.destination << " beside "
          << moves.apart[k].source << " to " << moves.apart[k].destination;
    }
    for (const ChainedMove& chained : moves.chained) {
      EXPECT_FALSE(Touches(chained.blocks, move.destination))
          << move.destination << " is written apart and in the chain";
      EXPECT_NE(chained.blocks.destination, move.source)
          << "read apart, written in the chain";
      EXPECT_FALSE(chained.swaps && chained.blocks.source == move.source)
          << move.source << " is read apart and exchanged";
    }
  }
}

void ExpectRight(const std::vector<BlockCopy>& copies, int32_t num_blocks) {
  const OrderedMoves moves = OrderMoves(copies, num_blocks);
  ExpectApart(moves);
  for (const bool apart_first : {true, false}) {
    Pool pool = Fresh(num_blocks);
    const auto move_apart = [&] {
      for (const BlockMove& move : moves.apart) Move({move}, pool);
    };
    if (apart_first) move_apart();
    for (const ChainedMove& move : moves.chained) Move(move, pool);
    if (!apart_first) move_apart();
    EXPECT_EQ(pool, AllAtOnce(copies, num_blocks));
  }
}

TEST(BlockMovesTest, ACopyMeetsTheOneThatWritesWhatItReads) {
  const std::vector<BlockCopy> copies = {{1, 2}, {2, 3}, {5, 6}, {5, 7}};
  const OrderedMoves moves = OrderMoves(copies, 8);
  // Two that read one block do not meet.
  ASSERT_EQ(moves.apart.size(), 2u);
  EXPECT_EQ(moves.apart[0].destination, 6);
  EXPECT_EQ(moves.apart[1].destination, 7);
  // What is read is saved before it is overwritten.
  ASSERT_EQ(moves.chained.size(), 2u);
  EXPECT_EQ(moves.chained[0].blocks.destination, 3);
  EXPECT_EQ(moves.chained[1].blocks.destination, 2);
}

TEST(BlockMovesTest, ABlockThatGoesToItselfIsNoMove) {
  const OrderedMoves moves =
      OrderMoves(std::vector<BlockCopy>{{3, 3}, {3, 4}}, 5);
  EXPECT_EQ(moves.apart.size(), 1u);
  EXPECT_TRUE(moves.chained.empty());
}

TEST(BlockMovesTest, ChainsBranchesAndCyclesEndAsIfAtOnce) {
  ExpectRight({}, 4);
  ExpectRight({{1, 2}, {2, 3}, {3, 4}}, 5);
  ExpectRight({{4, 3}, {3, 2}, {2, 1}, {1, 0}}, 5);
  ExpectRight({{1, 2}, {2, 1}}, 3);
  ExpectRight({{1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 0}, {5, 6}, {6, 5}}, 7);
}

// From pools where nearly all copies meet to those where hardly any do.
TEST(BlockMovesTest, RandomCopiesEndAsIfAtOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto num_blocks = static_cast<int32_t>(2 + random() % 40);
    Pool destinations = Fresh(num_blocks);
    std::shuffle(destinations.begin(), destinations.end(), random);
    std::vector<BlockCopy> copies(1 + random() % destinations.size());
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i] = {
          static_cast<int32_t>(random() % static_cast<uint32_t>(num_blocks)),
          destinations[i]};
    }
    SCOPED_TRACE(round);
    ExpectRight(copies, num_blocks);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace paged::internal
