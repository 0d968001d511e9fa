// The walk over many shapes of pools. A failure names its seed and operation.
// PAGED_WALK_SCALE=10 makes each ten times as long, PAGED_WALK_SEED=7 another.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

#include "tests/lib/blocks/model_walk.h"

namespace paged::testing {
namespace {

struct WalkCase {
  std::string name;
  WalkOptions options;
};

// What a failure prints of its case.
void PrintTo(const WalkCase& walk, std::ostream* out) { *out << walk.name; }

class ModelTest : public ::testing::TestWithParam<WalkCase> {};

// BR-134, 135, 166: the books balance after every call, no block has two owners
// by mistake, and a pool that is full refuses.
TEST_P(ModelTest, AgreesWithTheOracleAndTheDevice) {
  WalkOptions options = GetParam().options;
  if (const char* scale = std::getenv("PAGED_WALK_SCALE")) {
    options.num_operations *= std::atoll(scale);
  }
  if (const char* seed = std::getenv("PAGED_WALK_SEED")) {
    options.seed = static_cast<uint64_t>(std::atoll(seed));
  }
  ModelWalk walk(options);
  EXPECT_EQ(walk.Run(), "");
  // A walk that never gets there proves nothing.
  EXPECT_GT(walk.num_refused(), 0);
  if (GetParam().options.manager.num_blocks > 16) {
    EXPECT_GT(walk.num_hits(), 0);
    EXPECT_GT(walk.num_evictions(), 0);
    if (GetParam().options.manager.block_size > 1) {
      EXPECT_GT(walk.num_copies(), 0);
    }
  }
}

WalkCase Case(const std::string& name, int64_t num_operations,
              int64_t num_blocks, int block_size, ReusePolicy reuse,
              int64_t longest_prompt) {
  WalkCase result{.name = name, .options = {}};
  result.options.manager = {.num_blocks = num_blocks,
                            .block_size = block_size,
                            .max_seqs = 16,
                            .max_blocks_per_seq = 24,
                            .watermark_blocks = num_blocks / 16,
                            .max_steps_in_flight = 3,
                            .reuse = reuse};
  result.options.num_operations = num_operations;
  result.options.longest_prompt = longest_prompt;
  result.options.audit_every = num_blocks < 16 ? 1 : 16;
  return result;
}

WalkCase Colliding(WalkCase walk, int digest_bits) {
  walk.options.manager.verify_tokens = true;
  walk.options.digest_bits = digest_bits;
  return walk;
}

constexpr ReusePolicy kOrder = ReusePolicy::kSubmissionOrder;
constexpr ReusePolicy kRetire = ReusePolicy::kAfterRetire;

INSTANTIATE_TEST_SUITE_P(
    Pools, ModelTest,
    ::testing::Values(
        Case("Blocks3Of1", 40000, 3, 1, kOrder, 3),
        Case("Blocks3Of4", 40000, 3, 4, kRetire, 8),
        Case("Blocks5Of16", 40000, 5, 16, kOrder, 40),
        Case("Blocks9Of4", 40000, 9, 4, kRetire, 20),
        Case("Blocks64Of1", 120000, 64, 1, kOrder, 12),
        Case("Blocks64Of1Late", 120000, 64, 1, kRetire, 12),
        Case("Blocks97Of4", 400000, 97, 4, kOrder, 40),
        Case("Blocks97Of4Late", 300000, 97, 4, kRetire, 40),
        Case("Blocks80Of16", 60000, 80, 16, kOrder, 160),
        Case("Blocks80Of16Late", 60000, 80, 16, kRetire, 160),
        Case("Blocks40Of256", 4000, 40, 256, kOrder, 1400),
        Case("Blocks40Of256Late", 4000, 40, 256, kRetire, 1400),
        Colliding(Case("Verified", 20000, 64, 4, kRetire, 30), 256),
        Colliding(Case("Hash8Bits", 20000, 64, 4, kRetire, 30), 8),
        Colliding(Case("HashConstant", 20000, 64, 4, kOrder, 30), 0)),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paged::testing
