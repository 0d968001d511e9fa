#include <gtest/gtest.h>

#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

constexpr int kSize = 4;

BlockManager Make(int64_t num_blocks = 32, bool verify_tokens = false) {
  return BlockManager::Create({.num_blocks = num_blocks,
                               .block_size = kSize,
                               .max_seqs = 8,
                               .max_blocks_per_seq = 16,
                               .verify_tokens = verify_tokens,
                               .max_events = 64})
      .value();
}

// BR-153: published by Commit, not by Open.
TEST(PrefixCacheTest, WhatWasNotCommittedIsNotFound) {
  BlockManager manager = Make();
  const Prompt prompt = MakePrompt(9, kSize);
  const SequenceHandle first = manager.Open(prompt.request()).value().handle;
  EXPECT_EQ(manager.Open(prompt.request()).value().cached_tokens, 0);
  ASSERT_TRUE(manager.Commit(first, 5, prompt.prefix()).ok());
  EXPECT_EQ(manager.Open(prompt.request()).value().cached_tokens, 4);
}

// BR-155: at most all but the last token, rounded down to a block.
TEST(PrefixCacheTest, AFullyCachedPromptLeavesItsLastToken) {
  for (const int length : {4, 5, 8, 9}) {
    BlockManager manager = Make();
    const Prompt prompt = MakePrompt(length, kSize);
    OpenAndCommit(manager, prompt);
    EXPECT_EQ(manager.Open(prompt.request()).value().cached_tokens,
              (length - 1) / kSize * kSize);
  }
}

// BR-158: no hits beyond a hole, and a tail goes before what leads to it.
TEST(PrefixCacheTest, EvictsTheTailFirstAndStopsAtTheFirstMiss) {
  BlockManager manager = Make(5);
  const Prompt prompt = MakePrompt(13, kSize);
  const SequenceHandle handle = OpenAndCommit(manager, MakePrompt(12, kSize));
  ASSERT_TRUE(manager.Release(handle).ok());
  // One block is free, three are cached: two take the free one and the tail.
  const SequenceHandle other = manager.Open({.num_tokens = 8}).value().handle;
  EXPECT_EQ(manager.Probe({.num_tokens = 13, .prefix = prompt.prefix()})
                .value()
                .cached_blocks,
            2);
  ASSERT_TRUE(manager.Release(other).ok());
  EXPECT_EQ(manager.Statistics().evictions, 1);
}

TEST(PrefixCacheTest, EvictsTheLeastRecentlyReleased) {
  BlockManager manager = Make(4);
  std::vector<Prompt> prompts;
  for (int seed = 1; seed <= 3; ++seed) {
    prompts.push_back(MakePrompt(4, kSize, seed));
    ASSERT_TRUE(manager.Release(OpenAndCommit(manager, prompts.back())).ok());
  }
  // Using the first makes it the most recent.
  const PinnedPrefix pin = manager.Pin(prompts[0].prefix()).value();
  ASSERT_TRUE(manager.Unpin(pin.handle).ok());
  ASSERT_TRUE(manager.Open({.num_tokens = 1}).ok());
  EXPECT_TRUE(manager.Pin(prompts[0].prefix()).ok());
  EXPECT_FALSE(manager.Pin(prompts[1].prefix()).ok());
  EXPECT_TRUE(manager.Pin(prompts[2].prefix()).ok());
}

// BR-148: a reused block answers to its old digest no more.
TEST(PrefixCacheTest, AReusedBlockIsNotFoundUnderItsOldDigest) {
  BlockManager manager = Make(2);
  const Prompt old_prompt = MakePrompt(4, kSize, 1);
  const Prompt new_prompt = MakePrompt(4, kSize, 2);
  ASSERT_TRUE(manager.Release(OpenAndCommit(manager, old_prompt)).ok());
  ASSERT_TRUE(manager.Release(OpenAndCommit(manager, new_prompt)).ok());
  EXPECT_FALSE(manager.Pin(old_prompt.prefix()).ok());
  EXPECT_TRUE(manager.Pin(new_prompt.prefix()).ok());
}

// BR-138: the matched block is the next victim; it must be held before blocks
// are taken for the same sequence.
TEST(PrefixCacheTest, HoldsWhatMatchedBeforeItTakesBlocks) {
  BlockManager manager = Make(4);
  const Prompt prompt = MakePrompt(12, kSize);
  Prompt first = prompt;
  first.tokens.resize(4);
  first.digests.resize(1);
  const SequenceHandle handle = OpenAndCommit(manager, first);
  ASSERT_TRUE(manager.Release(handle).ok());
  const SequenceHandle again = manager.Open(prompt.request()).value().handle;
  const std::vector<int32_t> row = RowOf(manager, again);
  EXPECT_EQ(row[0], 1);
  EXPECT_NE(row[1], 1);
  EXPECT_NE(row[2], 1);
  EXPECT_EQ(manager.Statistics().evictions, 0);
  EXPECT_TRUE(manager.Audit().ok());
}

// BR-154: an idle hit is a block less for others, and stays cached.
TEST(PrefixCacheTest, CapacityCountsWhatAHitTakesOutOfTheCache) {
  BlockManager manager = Make(4);
  const Prompt prompt = MakePrompt(12, kSize);
  ASSERT_TRUE(manager.Release(OpenAndCommit(manager, prompt)).ok());
  // Two hits and one new block fit; two new ones would need the hits.
  const Admission fits = manager.Probe(prompt.request()).value();
  EXPECT_EQ(fits.cached_blocks, 2);
  EXPECT_EQ(fits.new_blocks, 1);
  EXPECT_EQ(fits.available_blocks, 1);
  EXPECT_TRUE(fits.fits);
  EXPECT_TRUE(manager.CanAdmit(prompt.request()));
  EXPECT_TRUE(manager.Open(prompt.request()).ok());
  EXPECT_EQ(manager.Statistics().hits, 2);
  EXPECT_TRUE(manager.Audit().ok());
}

// BR-145: pinned blocks are stepped over, and everything else can be had.
TEST(PrefixCacheTest, PinnedBlocksAreNeverEvicted) {
  BlockManager manager = Make(8);
  const Prompt system = MakePrompt(8, kSize, 1);
  const SequenceHandle first = OpenAndCommit(manager, system);
  const PinnedPrefix pin = manager.Pin(system.prefix()).value();
  EXPECT_EQ(pin.num_tokens, 8);
  ASSERT_TRUE(manager.Release(first).ok());
  EXPECT_EQ(manager.Statistics().pinned, 2);
  const SequenceHandle all =
      manager.Open({.num_tokens = 5 * kSize}).value().handle;
  EXPECT_FALSE(manager.CanAppend(all, 1));
  ASSERT_TRUE(manager.Release(all).ok());
  EXPECT_EQ(manager.Probe({.num_tokens = 9, .prefix = system.prefix()})
                .value()
                .cached_blocks,
            2);
  ASSERT_TRUE(manager.Unpin(pin.handle).ok());
  EXPECT_TRUE(manager.Open({.num_tokens = 7 * kSize}).ok());
  EXPECT_EQ(manager.Statistics().pinned, 0);
}

// BR-157: after preemption the number of cached tokens is Open's alone.
TEST(PrefixCacheTest, APreemptedSequenceResumesFromWhatOpenSays) {
  BlockManager manager = Make();
  const Prompt prompt = MakePrompt(11, kSize);
  const SequenceHandle handle = OpenAndCommit(manager, prompt);
  ASSERT_TRUE(manager.Release(handle).ok());
  const OpenedSequence resumed = manager.Open(prompt.request()).value();
  EXPECT_EQ(resumed.cached_tokens, 8);
  EXPECT_EQ(manager.Length(resumed.handle).value(), 11);
}

TEST(PrefixCacheTest, AResetForgetsAllAndOldSequencesPublishNothing) {
  BlockManager manager = Make();
  const Prompt prompt = MakePrompt(12, kSize);
  const SequenceHandle old_one = OpenAndCommit(manager, prompt);
  manager.ResetCache();
  EXPECT_EQ(manager.Statistics().indexed, 0);
  EXPECT_FALSE(manager.Pin(prompt.prefix()).ok());
  ASSERT_TRUE(manager.Append(old_one, 4).ok());
  const Prompt longer = MakePrompt(16, kSize);
  ASSERT_TRUE(manager.Commit(old_one, 16, longer.prefix()).ok());
  const SequenceHandle child = manager.Fork(old_one).value();
  ASSERT_TRUE(manager.Commit(child, 16, longer.prefix()).ok());
  EXPECT_EQ(manager.Statistics().indexed, 0);
  OpenAndCommit(manager, prompt);
  EXPECT_EQ(manager.Statistics().indexed, 3);
  EXPECT_TRUE(manager.Audit().ok());
}

// BR-150: with one digest for all, tokens and parents tell blocks apart.
TEST(PrefixCacheTest, VerificationSurvivesAConstantHash) {
  BlockManager manager = Make(32, true);
  const auto colliding = [](int num_tokens, int seed) {
    Prompt prompt = MakePrompt(num_tokens, kSize, seed);
    for (BlockDigest& digest : prompt.digests) digest = {};
    return prompt;
  };
  const Prompt a = colliding(9, 1);
  Prompt b = colliding(9, 2);
  // The same second block after another first one.
  std::copy(a.tokens.begin() + 4, a.tokens.end(), b.tokens.begin() + 4);
  OpenAndCommit(manager, a);
  EXPECT_EQ(manager.Open(b.request()).value().cached_tokens, 0);
  OpenAndCommit(manager, b);
  const auto row_a = RowOf(manager, manager.Open(a.request()).value().handle);
  const auto row_b = RowOf(manager, manager.Open(b.request()).value().handle);
  EXPECT_NE(row_a[0], row_b[0]);
  EXPECT_NE(row_a[1], row_b[1]);
  EXPECT_TRUE(manager.Audit().ok());
}

// The parent's block may hold other content by the time a child is looked for.
TEST(PrefixCacheTest, VerificationDoesNotTakeABlockIdForItsContent) {
  BlockManager manager = Make(4, true);
  Prompt a = MakePrompt(8, kSize, 1);
  Prompt b = MakePrompt(8, kSize, 2);
  std::copy(a.tokens.begin() + 4, a.tokens.end(), b.tokens.begin() + 4);
  for (Prompt* prompt : {&a, &b}) {
    for (BlockDigest& digest : prompt->digests) digest = {};
  }
  // Keep a's second block, and let the block of its first hold b's first.
  const SequenceHandle first = OpenAndCommit(manager, a);
  ASSERT_TRUE(manager.Slide(first, 4, 0).ok());
  const SequenceHandle filler =
      manager.Open({.num_tokens = kSize}).value().handle;
  const SequenceHandle second =
      manager.Open({.num_tokens = kSize, .prefix = b.prefix()}).value().handle;
  ASSERT_EQ(RowOf(manager, second)[0], 1);
  ASSERT_TRUE(manager.Commit(second, kSize, b.prefix()).ok());
  ASSERT_TRUE(manager.Release(filler).ok());
  EXPECT_EQ(manager.Pin(b.prefix()).value().num_tokens, kSize);
}

TEST(PrefixCacheTest, EventsTellWhatHappened) {
  BlockManager manager = Make(3);
  const Prompt prompt = MakePrompt(5, kSize);
  const SequenceHandle handle = OpenAndCommit(manager, prompt);
  const SequenceHandle child = manager.Fork(handle).value();
  ASSERT_TRUE(manager.Release(child).ok());
  ASSERT_TRUE(manager.Release(handle).ok());
  ASSERT_TRUE(manager.Open({.num_tokens = 8}).ok());
  manager.ResetCache();
  std::vector<BlockEvent> events(8);
  ASSERT_EQ(manager.TakeEvents(absl::MakeSpan(events)), 4u);
  EXPECT_EQ(events[0].kind, BlockEventKind::kStored);
  EXPECT_EQ(events[0].digest, prompt.digests[0]);
  EXPECT_EQ(events[1].kind, BlockEventKind::kForked);
  EXPECT_EQ(events[2].kind, BlockEventKind::kEvicted);
  EXPECT_EQ(events[2].block, events[0].block);
  EXPECT_EQ(events[3].kind, BlockEventKind::kCleared);
  EXPECT_EQ(manager.TakeEvents(absl::MakeSpan(events)), 0u);
}

}  // namespace
}  // namespace paged::testing
