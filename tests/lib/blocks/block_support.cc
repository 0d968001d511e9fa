#include "tests/lib/blocks/block_support.h"

#include <gtest/gtest.h>

namespace paged::testing {
Prompt MakePrompt(int num_tokens, int block_size, int seed) {
  Prompt prompt;
  for (int i = 0; i < num_tokens; ++i) {
    prompt.tokens.push_back(1000 * seed + i);
  }
  prompt.digests = DigestPrompt({}, prompt.tokens, block_size);
  return prompt;
}

std::vector<int32_t> RowOf(const BlockManager& manager, SequenceHandle handle) {
  const absl::Span<const int32_t> row = manager.Row(handle).value();
  return {row.begin(), row.end()};
}

void FinishStep(BlockManager& manager) {
  EXPECT_TRUE(manager.RetireStep(manager.SubmitStep().value().id).ok());
}

SequenceHandle OpenAndCommit(BlockManager& manager, const Prompt& prompt) {
  const SequenceHandle handle = manager.Open(prompt.request()).value().handle;
  FinishStep(manager);
  EXPECT_TRUE(manager
                  .Commit(handle, static_cast<int64_t>(prompt.tokens.size()),
                          prompt.prefix())
                  .ok());
  return handle;
}

}  // namespace paged::testing
