// Audit sees each thing that can break.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

using Access = internal::BlockManagerAccess;
using internal::BlockManagerState;

struct Damage {
  const char* message;
  std::function<void(BlockManagerState&)> apply;
};

// Slot 0 holds blocks 1 to 3 (two cached), slot 1 a stream, slot 2 a fork with
// a copy pending.
BlockManager Make() {
  BlockManager manager = BlockManager::Create({.num_blocks = 32,
                                               .block_size = 4,
                                               .max_seqs = 8,
                                               .max_blocks_per_seq = 8})
                             .value();
  const SequenceHandle first = OpenAndCommit(manager, MakePrompt(9, 4));
  EXPECT_TRUE(manager.OpenStream({.window = 2, .max_chunk = 1}).ok());
  const SequenceHandle idle = OpenAndCommit(manager, MakePrompt(5, 4, 2));
  EXPECT_TRUE(manager.Release(idle).ok());
  const SequenceHandle fork = manager.Fork(first).value();
  EXPECT_TRUE(manager.Append(fork, 1).ok());
  return manager;
}

TEST(AuditTest, SeesWhatIsBroken) {
  const Damage damages[] = {
      {"columns for", [](auto& s) { s.sequences.at(0).length += 4; }},
      {"committed more", [](auto& s) { s.sequences.at(0).computed = 7; }},
      {"committed more", [](auto& s) { s.sequences.at(0).computed = 10; }},
      {"would write", [](auto& s) { s.sequences.at(0).owned_end = 12; }},
      {"references", [](auto& s) { s.sequences.Row(0)[0] = 2; }},
      {"names block", [](auto& s) { s.sequences.Row(0)[0] = 32; }},
      {"names block", [](auto& s) { s.sequences.Row(0)[0] = -1; }},
      {"in column", [](auto& s) { s.sequences.Row(0)[0] = 0; }},
      {"in column",
       [](auto& s) {
         s.sequences.at(0).slid = {0, 1};
       }},
      {"references", [](auto& s) { s.pool.ReferenceHeld(1); }},
      {"null block", [](auto& s) { s.pool.ReferenceHeld(0); }},
      {"not its own",
       [](auto& s) { s.pool.ReferenceHeld(s.sequences.Row(1)[0]); }},
      {"marked wrongly", [](auto& s) { s.pool.SetCopyTarget(1); }},
      {"marked wrongly",
       [](auto& s) {
         s.pool.ClearCopyTarget(
             s.steps.copies(s.steps.building())[0].destination);
       }},
      {"of the free list", [](auto& s) { s.pool.SetIndexed(30); }},
      {"not found", [](auto& s) { s.pool.SetIndexed(3); }},
      {"entries",
       [](auto& s) {
         s.index.Clear();
         s.pool.ForgetIndex();
         s.index.Insert(3, {.digest = &s.index.digest(1)});
       }},
      {"references", [](auto& s) { s.pool.PopFree(); }},
      {"references", [](auto& s) { s.pool.PopOldestIdle(); }},
      {"reserved and pinned", [](auto& s) { ++s.reserved; }},
      {"reserved and pinned", [](auto& s) { ++s.pinned; }},
      {"source and destination",
       [](auto& s) {
         const BlockCopy copy = s.steps.copies(s.steps.building())[0];
         s.steps.AddCopy({copy.destination, 30});
       }},
      {"is held and quarantined",
       [](auto& s) {
         Access::BlockStates(s)[1] |= internal::PoolLists::kQuarantined;
       }},
      {"free list names block 0", [](auto& s) { Access::FreeStack(s)[0] = 0; }},
      {"is on 2 lists",
       [](auto& s) { Access::FreeStack(s)[0] = Access::FreeStack(s)[1]; }},
      {"is on 0 lists", [](auto& s) { --Access::NumFree(s); }},
      {"cached list has", [](auto& s) { ++Access::NumIdle(s); }},
      {"entries", [](auto& s) { ++Access::NumIndexed(s); }},
      {"rows are open", [](auto& s) { --Access::NumClosed(s); }},
      {"two copies",
       [](auto& s) { s.steps.AddCopy(s.steps.copies(s.steps.building())[0]); }},
  };
  EXPECT_TRUE(Make().Audit().ok()) << Make().Audit();
  for (const Damage& damage : damages) {
    BlockManager manager = Make();
    damage.apply(Access::State(manager));
    const absl::Status status = manager.Audit();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << damage.message;
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr(damage.message));
  }
}

}  // namespace
}  // namespace paged::testing
