// Calls that fail: each names its rule and changes nothing.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

constexpr BlockManagerOptions kOptions = {.num_blocks = 17,
                                          .block_size = 4,
                                          .max_seqs = 6,
                                          .max_blocks_per_seq = 12,
                                          .max_steps_in_flight = 1,
                                          .verify_tokens = true,
                                          .max_events = 4};

struct Scene {
  BlockManager manager = BlockManager::Create(kOptions).value();
  BlockManager other = BlockManager::Create(kOptions).value();
  Prompt prompt = MakePrompt(9, 4);
  SequenceHandle sequence = OpenAndCommit(manager, prompt);
  SequenceHandle stream =
      manager.OpenStream({.window = 3, .sink = 1, .max_chunk = 2}).value();
  SequenceHandle pin = manager.Pin(prompt.prefix()).value().handle;
  SequenceHandle slid = Slid();
  SequenceHandle released = Released();
  SequenceHandle foreign = other.Open({.num_tokens = 1}).value().handle;

  // Block 1 of three is gone.
  SequenceHandle Slid() {
    const SequenceHandle handle =
        manager.Open({.num_tokens = 9}).value().handle;
    EXPECT_TRUE(manager.Slide(handle, 2, 4).ok());
    return handle;
  }
  SequenceHandle Released() {
    const SequenceHandle handle =
        manager.Open({.num_tokens = 1}).value().handle;
    EXPECT_TRUE(manager.Release(handle).ok());
    return handle;
  }
};

using Call = std::function<absl::Status(Scene&)>;

void ExpectRefused(const std::string& name, absl::StatusCode code,
                   const Call& call) {
  Scene scene;
  const std::vector<uint64_t> before = SnapshotOf(scene.manager);
  const absl::Status status = call(scene);
  EXPECT_EQ(status.code(), code) << name << ": " << status;
  EXPECT_FALSE(status.message().empty()) << name;
  EXPECT_EQ(SnapshotOf(scene.manager), before) << name;
}

// BR-140 (double release), stale and foreign handles, for every call.
TEST(RefusalTest, HandlesThatNameNothingAreNotFound) {
  using H = SequenceHandle;
  const std::vector<std::function<absl::Status(Scene&, H)>> calls = {
      [](Scene& s, H h) { return s.manager.Append(h, 1); },
      [](Scene& s, H h) { return s.manager.Fork(h).status(); },
      [](Scene& s, H h) { return s.manager.RollbackTo(h, 0); },
      [](Scene& s, H h) { return s.manager.TrimTo(h, 0); },
      [](Scene& s, H h) { return s.manager.Slide(h, 1, 0); },
      [](Scene& s, H h) { return s.manager.Release(h).status(); },
      [](Scene& s, H h) { return s.manager.Unpin(h); },
      [](Scene& s, H h) { return s.manager.Length(h).status(); },
      [](Scene& s, H h) { return s.manager.SlotOf(h, 0).status(); },
      [](Scene& s, H h) { return s.manager.Row(h).status(); },
      [](Scene& s, H h) { return s.manager.Commit(h, 1, {}); },
      [](Scene& s, H h) {
        return s.manager.CommonPrefixBlocks({&h, 1}).status();
      },
      [](Scene& s, H h) {
        std::vector<int32_t> out(64);
        return s.manager.DenseTable({{s.sequence, h}}, 12, absl::MakeSpan(out));
      },
      [](Scene& s, H h) {
        std::vector<int32_t> out(2);
        return s.manager.ContextLens({{s.sequence, h}}, absl::MakeSpan(out));
      },
      [](Scene& s, H h) {
        std::vector<int32_t> indptr(3), indices(64), last(2);
        return s.manager
            .CsrTable({{s.sequence, h}}, absl::MakeSpan(indptr),
                      absl::MakeSpan(indices), absl::MakeSpan(last))
            .status();
      }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string name = "call " + std::to_string(i);
    const auto expect = [&](const std::function<H(Scene&)>& handle) {
      ExpectRefused(name, absl::StatusCode::kNotFound,
                    [&](Scene& s) { return calls[i](s, handle(s)); });
    };
    expect([](Scene& s) { return s.released; });
    expect([](Scene& s) { return s.foreign; });
    expect([](Scene&) { return H{}; });
    expect([](Scene& s) {
      return H{.slot = 6, .generation = s.sequence.generation};
    });
  }
}

TEST(RefusalTest, BadCountsAndKindsAreRefused) {
  using absl::StatusCode;
  constexpr auto kInvalid = StatusCode::kInvalidArgument;
  constexpr auto kKind = StatusCode::kFailedPrecondition;
  constexpr auto kRange = StatusCode::kOutOfRange;
  const struct {
    const char* name;
    StatusCode code;
    Call call;
  } cases[] = {
      {"Open 0", kInvalid,
       [](Scene& s) { return s.manager.Open({.num_tokens = 0}).status(); }},
      {"Open -1", kInvalid,
       [](Scene& s) { return s.manager.Open({.num_tokens = -1}).status(); }},
      {"Open beyond the row", kInvalid,
       [](Scene& s) { return s.manager.Open({.num_tokens = 49}).status(); }},
      {"Open the greatest", kInvalid,
       [](Scene& s) {
         return s.manager.Open({.num_tokens = INT64_MAX}).status();
       }},
      {"Lookahead beyond the row", kInvalid,
       [](Scene& s) {
         return s.manager.Open({.num_tokens = 1, .lookahead_tokens = INT64_MAX})
             .status();
       }},
      {"Lookahead -1", kInvalid,
       [](Scene& s) {
         return s.manager.Open({.num_tokens = 1, .lookahead_tokens = -1})
             .status();
       }},
      {"Digests without tokens", kInvalid,
       [](Scene& s) {
         return s.manager
             .Open({.num_tokens = 9, .prefix = {.digests = s.prompt.digests}})
             .status();
       }},
      {"Open more than is available", StatusCode::kResourceExhausted,
       [](Scene& s) { return s.manager.Open({.num_tokens = 48}).status(); }},
      {"Append 0", kInvalid,
       [](Scene& s) { return s.manager.Append(s.sequence, 0); }},
      {"Append -5", kInvalid,
       [](Scene& s) { return s.manager.Append(s.sequence, -5); }},
      {"Append the greatest", kRange,
       [](Scene& s) { return s.manager.Append(s.sequence, INT64_MAX); }},
      {"Append more than is available", StatusCode::kResourceExhausted,
       [](Scene& s) { return s.manager.Append(s.sequence, 39); }},
      {"Append to a pin", kKind,
       [](Scene& s) { return s.manager.Append(s.pin, 1); }},
      {"Append a long chunk", kInvalid,
       [](Scene& s) { return s.manager.Append(s.stream, 3); }},
      {"Append nothing to a stream", kInvalid,
       [](Scene& s) { return s.manager.Append(s.stream, 0); }},
      {"Fork a stream", kKind,
       [](Scene& s) { return s.manager.Fork(s.stream).status(); }},
      {"Fork a pin", kKind,
       [](Scene& s) { return s.manager.Fork(s.pin).status(); }},
      {"Rollback above", kRange,
       [](Scene& s) { return s.manager.RollbackTo(s.sequence, 10); }},
      {"Rollback below what was computed", kRange,
       [](Scene& s) { return s.manager.RollbackTo(s.sequence, 8); }},
      {"Rollback a pin", kKind,
       [](Scene& s) { return s.manager.RollbackTo(s.pin, 0); }},
      {"Rollback of a stream above", kRange,
       [](Scene& s) { return s.manager.RollbackTo(s.stream, 1); }},
      {"Trim above", kRange,
       [](Scene& s) { return s.manager.TrimTo(s.sequence, 10); }},
      {"Trim -1", kRange,
       [](Scene& s) { return s.manager.TrimTo(s.sequence, -1); }},
      {"Trim a stream", kKind,
       [](Scene& s) { return s.manager.TrimTo(s.stream, 0); }},
      {"Slide window 0", kInvalid,
       [](Scene& s) { return s.manager.Slide(s.sequence, 0, 0); }},
      {"Slide sink -1", kInvalid,
       [](Scene& s) { return s.manager.Slide(s.sequence, 1, -1); }},
      {"Slide with another sink", kInvalid,
       [](Scene& s) { return s.manager.Slide(s.slid, 1, 5); }},
      {"Rollback into what was slid away", kRange,
       [](Scene& s) { return s.manager.RollbackTo(s.slid, 7); }},
      {"Trim into what was slid away", kRange,
       [](Scene& s) { return s.manager.TrimTo(s.slid, 7); }},
      {"Position that was slid away", kRange,
       [](Scene& s) { return s.manager.SlotOf(s.slid, 5).status(); }},
      {"Slide a pin", kKind,
       [](Scene& s) { return s.manager.Slide(s.pin, 1, 0); }},
      {"Trim a pin", kKind,
       [](Scene& s) { return s.manager.TrimTo(s.pin, 0); }},
      {"Commit a pin", kKind,
       [](Scene& s) { return s.manager.Commit(s.pin, 8, {}); }},
      {"Unpin a stream", kKind,
       [](Scene& s) { return s.manager.Unpin(s.stream); }},
      {"Commit digests without tokens", kInvalid,
       [](Scene& s) {
         return s.manager.Commit(s.sequence, 9, {.digests = s.prompt.digests});
       }},
      {"Pin digests without tokens", kInvalid,
       [](Scene& s) {
         return s.manager.Pin({.digests = s.prompt.digests}).status();
       }},
      {"Slide a stream", kKind,
       [](Scene& s) { return s.manager.Slide(s.stream, 1, 0); }},
      {"Release a pin", kKind,
       [](Scene& s) { return s.manager.Release(s.pin).status(); }},
      {"Unpin a sequence", kKind,
       [](Scene& s) { return s.manager.Unpin(s.sequence); }},
      {"Commit above", kRange,
       [](Scene& s) { return s.manager.Commit(s.sequence, 10, {}); }},
      {"Commit below", kRange,
       [](Scene& s) { return s.manager.Commit(s.sequence, 8, {}); }},
      {"Commit a stream", kKind,
       [](Scene& s) { return s.manager.Commit(s.stream, 0, {}); }},
      {"Pin what is not cached", StatusCode::kNotFound,
       [](Scene& s) {
         return s.manager.Pin(MakePrompt(9, 4, 2).prefix()).status();
       }},
      {"Pin nothing", StatusCode::kNotFound,
       [](Scene& s) { return s.manager.Pin({}).status(); }},
      {"Stream without a window", kInvalid,
       [](Scene& s) {
         return s.manager.OpenStream({.window = 0, .max_chunk = 1}).status();
       }},
      {"Stream longer than the row", kInvalid,
       [](Scene& s) {
         return s.manager.OpenStream({.window = 45, .max_chunk = 4}).status();
       }},
      {"Stream of the greatest", kInvalid,
       [](Scene& s) {
         return s.manager
             .OpenStream({.window = INT64_MAX, .max_chunk = INT64_MAX})
             .status();
       }},
      {"Retire what was not submitted", kRange,
       [](Scene& s) { return s.manager.RetireStep(7); }},
  };
  for (const auto& refused : cases) {
    ExpectRefused(refused.name, refused.code, refused.call);
  }
}

}  // namespace
}  // namespace paged::testing
