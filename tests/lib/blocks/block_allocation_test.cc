// A program of its own, because it replaces operator new to count the calls,
// and to let one fail.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "paged/block_manager.h"

namespace {
int64_t num_allocations = 0;
int64_t num_bytes = 0;
int64_t failing_allocation = -1;
}  // namespace

// Not inlined: g++ 12 would pair one side's malloc or free with the other's
// operator, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (++num_allocations == failing_allocation) throw std::bad_alloc();
  num_bytes += static_cast<int64_t>(bytes);
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace paged {
namespace {

constexpr BlockManagerOptions kOptions = {.num_blocks = 64,
                                          .block_size = 4,
                                          .max_seqs = 8,
                                          .max_blocks_per_seq = 16,
                                          .reuse = ReusePolicy::kAfterRetire,
                                          .verify_tokens = true,
                                          .max_events = 16};

// One round of everything that works on the way of a request.
bool ServeRequests(BlockManager& manager, const SequenceRequest& request,
                   absl::Span<int32_t> out, absl::Span<TableChange> changes) {
  bool ok = manager.CanAdmit(request);
  const SequenceHandle first = manager.Open(request).value().handle;
  ok &= manager.RetireStep(manager.SubmitStep().value().id).ok();
  ok &= manager.Commit(first, request.num_tokens, request.prefix).ok();
  const SequenceHandle pin = manager.Pin(request.prefix).value().handle;
  const SequenceHandle stream =
      manager.OpenStream({.window = 5, .sink = 1, .max_chunk = 2}).value();
  const SequenceHandle child = manager.Fork(first).value();
  const SequenceHandle batch[] = {first, child};
  uint64_t step = 0;
  for (int i = 0; i < 20; ++i) {
    ok &= manager.CanAppend(first, 1) && manager.Append(first, 1).ok();
    ok &= manager.Append(child, 1).ok() && manager.Append(stream, 2).ok();
    ok &= manager.DenseTable(batch, 16, out).ok();
    ok &= manager.ContextLens(batch, out).ok();
    ok &= manager
              .CsrTable(batch, out.subspan(0, 3), out.subspan(3, 60),
                        out.subspan(63, 2))
              .ok();
    ok &= manager.CommonPrefixBlocks(batch).ok();
    manager.TakeTableChanges(changes);
    const uint64_t next = manager.SubmitStep().value().id;
    if (step != 0) ok &= manager.RetireStep(step).ok();
    step = next;
  }
  ok &= manager.RetireStep(step).ok();
  ok &= manager.Slide(child, 8, 4).ok();
  ok &= manager.RollbackTo(first, request.num_tokens + 1).ok();
  ok &= manager.TrimTo(first, 3).ok() && manager.Append(first, 1).ok();
  ok &= manager.Statistics().open == 4;
  for (const SequenceHandle handle : {first, child, stream}) {
    ok &= manager.Release(handle).ok();
  }
  return ok && manager.Unpin(pin).ok();
}

TEST(BlockAllocationTest, NothingIsAllocatedAfterCreate) {
  BlockManager manager = BlockManager::Create(kOptions).value();
  std::vector<int32_t> tokens(18), out(128);
  std::vector<TableChange> changes(64);
  std::vector<BlockDigest> digests(4);
  bool ok = true;
  const int64_t before = num_allocations;
  for (int i = 0; i < 100; ++i) {
    tokens[0] = i / 2 % 30;  // more prompts than the pool can cache
    DigestBlocks(RootDigest({.salt = "salt"}, 4), tokens, 4,
                 absl::MakeSpan(digests));
    ok &= ServeRequests(manager,
                        {.num_tokens = 18,
                         .prefix = {.digests = digests, .tokens = tokens},
                         .lookahead_tokens = 2},
                        absl::MakeSpan(out), absl::MakeSpan(changes));
    if (i == 50) manager.ResetCache();
  }
  EXPECT_EQ(num_allocations, before);
  EXPECT_TRUE(ok);
  EXPECT_GT(manager.Statistics().evictions, 0);
  EXPECT_GT(manager.Statistics().hits, 0);
  EXPECT_TRUE(manager.Audit().ok());
}

TEST(BlockAllocationTest, CreateFailsWholeAtEachOfItsAllocations) {
  const int64_t before = num_allocations;
  ASSERT_TRUE(BlockManager::Create(kOptions).ok());
  const int64_t num_in_create = num_allocations - before;
  ASSERT_GT(num_in_create, 8);
  for (int64_t i = 1; i <= num_in_create; ++i) {
    failing_allocation = num_allocations + i;
    const absl::StatusOr<BlockManager> manager = BlockManager::Create(kOptions);
    failing_allocation = -1;
    EXPECT_EQ(manager.status().code(), absl::StatusCode::kResourceExhausted)
        << i;
  }
}

TEST(BlockAllocationTest, BooksTakeAtMost84BytesPerBlock) {
  for (const int64_t num_blocks : {1000, 100000, 1000000}) {
    const auto bytes_of = [](int64_t blocks) {
      BlockManagerOptions options = kOptions;
      options.verify_tokens = false;
      options.num_blocks = blocks;
      const int64_t before = num_bytes;
      EXPECT_TRUE(BlockManager::Create(options).ok());
      return num_bytes - before;
    };
    // Rows and the like are the same for both.
    EXPECT_LE(bytes_of(num_blocks) - bytes_of(2), 84 * num_blocks);
  }
}

}  // namespace
}  // namespace paged
