#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

// Speech: a window of 750 tokens, four sinks, up to 13 tokens per 80 ms.
constexpr StreamRequest kSpeech = {.window = 750, .sink = 4, .max_chunk = 13};
// ceil(4 / 16) + ceil((749 + 13 + 15) / 16).
constexpr int64_t kSpeechBlocks = 1 + 49;

TEST(StreamsTest, TakesItsWorstCaseAtOnce) {
  BlockManager manager = BlockManager::Create({.num_blocks = 2 * kSpeechBlocks,
                                               .max_seqs = 4,
                                               .max_blocks_per_seq = 64})
                             .value();
  const SequenceHandle stream = manager.OpenStream(kSpeech).value();
  EXPECT_EQ(manager.Statistics().reserved, kSpeechBlocks);
  // One block short of a second one.
  EXPECT_EQ(manager.OpenStream(kSpeech).status().code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(manager.Append(stream, 13).ok());
  EXPECT_EQ(manager.Statistics().reserved, kSpeechBlocks - 1);
  EXPECT_EQ(manager.Statistics().used, 1);
  ASSERT_TRUE(manager.Audit().ok());
  EXPECT_EQ(manager.Release(stream).value(), kSpeechBlocks);
  EXPECT_EQ(manager.Statistics().reserved, 0);
}

// An hour of a thousand streams. Appends never fail, nothing is taken or given
// back, and no entry of the table changes after the opening.
TEST(StreamsTest, AThousandStreamsRunForAnHour) {
  constexpr int kStreams = 1000;
  constexpr int kTicks = 3600 * 1000 / 80;
  BlockManager manager =
      BlockManager::Create({.num_blocks = kStreams * kSpeechBlocks + 1,
                            .max_seqs = kStreams,
                            .max_blocks_per_seq = 64})
          .value();
  std::vector<SequenceHandle> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(manager.OpenStream(kSpeech).value());
  }
  std::vector<TableChange> changes(kStreams * kSpeechBlocks + 1);
  EXPECT_EQ(manager.TakeTableChanges(absl::MakeSpan(changes)),
            changes.size() - 1);
  int64_t num_failed = 0;
  int64_t num_changes = 0;
  uint32_t random = 1;
  for (int tick = 0; tick < kTicks; ++tick) {
    for (const SequenceHandle stream : streams) {
      random = random * 1664525 + 1013904223;
      num_failed +=
          manager.Append(stream, 1 + (random >> 16) % 13).ok() ? 0 : 1;
    }
    num_changes +=
        static_cast<int64_t>(manager.TakeTableChanges(absl::MakeSpan(changes)));
    if (tick % 5000 == 0) FinishStep(manager);
  }
  EXPECT_EQ(num_failed, 0);
  EXPECT_EQ(num_changes, 0);
  EXPECT_EQ(manager.Statistics().free, 0);
  EXPECT_EQ(manager.Statistics().reserved, 0);
  EXPECT_GT(manager.Length(streams[0]).value(), kTicks);
  EXPECT_TRUE(manager.Audit().ok());
}

struct RingCase {
  int block_size;
  StreamRequest request;
};

// A slot per position: whoever writes it last, owns it. What a chunk may see
// must still be its own.
TEST(StreamsTest, NoTokenInTheWindowIsOverwritten) {
  const std::vector<RingCase> cases = {
      {1, {1, 0, 1}}, {1, {3, 2, 2}},     {4, {1, 0, 1}},   {4, {5, 1, 3}},
      {4, {8, 4, 4}}, {16, {750, 4, 13}}, {16, {1, 0, 33}}, {256, {300, 5, 7}}};
  for (const RingCase& ring : cases) {
    BlockManager manager = BlockManager::Create({.num_blocks = 128,
                                                 .block_size = ring.block_size,
                                                 .max_seqs = 2,
                                                 .max_blocks_per_seq = 120})
                               .value();
    const SequenceHandle stream = manager.OpenStream(ring.request).value();
    std::mt19937 random(7);
    std::map<int64_t, int64_t> position_in_slot;
    int64_t length = 0;
    for (int step = 0; step < 400; ++step) {
      const int64_t begin = length;
      const int64_t n =
          1 + static_cast<int64_t>(
                  random() % static_cast<uint32_t>(ring.request.max_chunk));
      ASSERT_TRUE(manager.Append(stream, n).ok());
      length += n;
      for (int64_t p = begin; p < length; ++p) {
        position_in_slot[manager.SlotOf(stream, p).value()] = p;
      }
      for (int64_t p = 0; p < length; ++p) {
        if (p >= ring.request.sink && p <= begin - ring.request.window) {
          continue;
        }
        const auto slot = manager.SlotOf(stream, p);
        ASSERT_TRUE(slot.ok()) << slot.status();
        ASSERT_EQ(position_in_slot[*slot], p);
      }
      // Some drafts are rejected, of this chunk at most.
      const int64_t keep =
          begin + static_cast<int64_t>(random() % static_cast<uint32_t>(n + 1));
      if (random() % 3 == 0) {
        ASSERT_TRUE(manager.RollbackTo(stream, keep).ok());
        length = keep;
      }
    }
    EXPECT_TRUE(manager.Audit().ok());
  }
}

// Drafts that were rolled back have overwritten what they overwrote.
TEST(StreamsTest, RollsBackOnlyToWindowsThatTheRingStillHolds) {
  BlockManager manager = BlockManager::Create({.num_blocks = 16,
                                               .block_size = 1,
                                               .max_seqs = 1,
                                               .max_blocks_per_seq = 8})
                             .value();
  // A ring of 3 - 1 + 4 slots.
  const SequenceHandle stream =
      manager.OpenStream({.window = 3, .max_chunk = 4}).value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(manager.Append(stream, 4).ok());
  ASSERT_TRUE(manager.RollbackTo(stream, 17).ok());
  ASSERT_TRUE(manager.Append(stream, 1).ok());
  // Token 15 would see 13, whose slot token 19 has taken.
  EXPECT_FALSE(manager.SlotOf(stream, 13).ok());
  EXPECT_FALSE(manager.RollbackTo(stream, 15).ok());
  EXPECT_TRUE(manager.SlotOf(stream, 14).ok());
  EXPECT_TRUE(manager.RollbackTo(stream, 16).ok());
}

TEST(StreamsTest, ListsSinksAndThenTheWindowOldestFirst) {
  BlockManager manager = BlockManager::Create({.num_blocks = 16,
                                               .block_size = 4,
                                               .max_seqs = 2,
                                               .max_blocks_per_seq = 8})
                             .value();
  // One sink, and ceil((5 - 1 + 2 + 3) / 4) = 3 blocks of ring.
  const SequenceHandle stream =
      manager.OpenStream({.window = 5, .sink = 2, .max_chunk = 2}).value();
  const std::vector<int32_t> row = RowOf(manager, stream);
  ASSERT_EQ(row.size(), 4u);
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(manager.Append(stream, 2).ok());
  // The last chunk, 24 and 25, sees 20 and later: blocks 5 and 6, in columns
  // 1 + (5 - 1) % 3 and 1 + (6 - 1) % 3.
  std::vector<int32_t> indptr(2), indices(4), last(1), lens(1);
  ASSERT_EQ(manager
                .CsrTable({&stream, 1}, absl::MakeSpan(indptr),
                          absl::MakeSpan(indices), absl::MakeSpan(last))
                .value(),
            3);
  indices.resize(3);
  EXPECT_EQ(indices, std::vector<int32_t>({row[0], row[2], row[3]}));
  EXPECT_EQ(last[0], 2);
  ASSERT_TRUE(manager.ContextLens({&stream, 1}, absl::MakeSpan(lens)).ok());
  EXPECT_EQ(lens[0], 4 + 4 + 2);
}

}  // namespace
}  // namespace paged::testing
