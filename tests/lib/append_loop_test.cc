// A decode loop: each step appends one token per sequence and attends to all.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "paged/decode.h"
#include "tests/support/decode_session.h"

namespace paged::testing {
namespace {

using AppendLoopTest = BackendTest;
INSTANTIATE_TEST_SUITE_P(Cpu, AppendLoopTest, ::testing::ValuesIn(CpuCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Cuda, AppendLoopTest, ::testing::ValuesIn(CudaCases()),
                         CaseName);

constexpr int kSteps = 40;

// The tokens of `step` of the first `live` sequences, one after another; rows
// of padded sequences hold NaN.
std::vector<std::byte> TokensOf(const Problem& problem, bool are_keys,
                                const std::vector<int32_t>& lens,
                                std::size_t live) {
  const auto token = static_cast<std::size_t>(problem.KeyIndex(1, 0, 0) *
                                              SizeOf(problem.spec.dtype));
  std::vector<std::byte> tokens(lens.size() * token, std::byte{0xff});
  for (std::size_t seq = 0; seq < live; ++seq) {
    const SequenceContent& content = problem.sequences[seq];
    const auto& from = are_keys ? content.keys : content.values;
    std::memcpy(tokens.data() + seq * token,
                from.data() + static_cast<std::size_t>(lens[seq]) * token,
                token);
  }
  return tokens;
}

// BR-009: padded rows append with slot -1, attend with length 0, and may not
// disturb the live ones.
TEST_P(AppendLoopTest, FortyStepsEqualTheOracleAtEveryStep) {
  const Problem whole = MakeProblem({.dtype = dtype(),
                                     .num_q_heads = 6,
                                     .num_kv_heads = 2,
                                     .head_dim = 64,
                                     .block_size = 16,
                                     .context_lens = {kSteps, kSteps + 13, 60},
                                     .extra_blocks = 2});
  // Nothing is in the pool at first but poison.
  Problem empty = whole;
  empty.spec.context_lens = {0, 0, 0};
  DecodeSession session(kind(), empty);
  const DecodeArgs args = session.args();

  for (const DecodeOptions& options : {ForceV1(), ForceSplits(2)}) {
    std::vector<int32_t> lens = {0, 0, 0};
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(step);
      const std::size_t live = step < 5 ? 2 : 3;
      std::vector<int64_t> slots(3, -1);
      for (std::size_t seq = 0; seq < live; ++seq) {
        const auto entry =
            seq * static_cast<std::size_t>(whole.shape.max_blocks_per_seq) +
            static_cast<std::size_t>(lens[seq] / 16);
        slots[seq] = int64_t{whole.block_tables[entry]} * 16 + lens[seq] % 16;
      }
      const std::vector<std::byte> keys = TokensOf(whole, true, lens, live);
      GuardedBuffer key(kind(), keys.size()), value(kind(), keys.size());
      GuardedBuffer slot_mapping(kind(), 3 * sizeof(int64_t));
      key.Upload(keys);
      value.Upload(TokensOf(whole, false, lens, live));
      slot_mapping.UploadValues(slots);
      const absl::Status appended = backend().AppendKv(
          {.num_tokens = 3,
           .num_kv_heads = 2,
           .head_dim = 64,
           .block_size = 16,
           .num_blocks = whole.shape.num_blocks,
           .dtype = dtype(),
           .key = key.data(),
           .value = value.data(),
           .key_cache = const_cast<void*>(args.key_cache),
           .value_cache = const_cast<void*>(args.value_cache),
           .slot_mapping = static_cast<const int64_t*>(slot_mapping.data())},
          nullptr);
      ASSERT_TRUE(appended.ok()) << appended;
      for (std::size_t seq = 0; seq < live; ++seq) ++lens[seq];
      session.SetContextLens(lens);

      Problem now = whole;
      now.spec.context_lens = lens;
      ASSERT_TRUE(IsNear(session.Run(options).value(), OracleFor(kind(), now)));
    }
  }
}

}  // namespace
}  // namespace paged::testing
