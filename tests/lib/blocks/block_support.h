// What the tests of the block manager share.
#ifndef PAGED_TESTS_LIB_BLOCKS_BLOCK_SUPPORT_H_
#define PAGED_TESTS_LIB_BLOCKS_BLOCK_SUPPORT_H_

#include <cstdint>
#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/snapshot.h"

namespace paged::testing {

// Tokens 1000 * seed, 1000 * seed + 1, ... and their digests.
struct Prompt {
  std::vector<int32_t> tokens;
  std::vector<BlockDigest> digests;

  Prefix prefix() const { return {.digests = digests, .tokens = tokens}; }
  SequenceRequest request() const {
    return {.num_tokens = static_cast<int64_t>(tokens.size()),
            .prefix = prefix()};
  }
};
Prompt MakePrompt(int num_tokens, int block_size, int seed = 1);

std::vector<int32_t> RowOf(const BlockManager& manager, SequenceHandle handle);

// Submits a step and retires it.
void FinishStep(BlockManager& manager);

// Opens a prompt, computes it, commits it.
SequenceHandle OpenAndCommit(BlockManager& manager, const Prompt& prompt);

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_BLOCK_SUPPORT_H_
