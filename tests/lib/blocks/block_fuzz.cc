// libFuzzer: bytes choose the operations of the model walk. Built with
// -DPAGED_FUZZ=ON by clang:
//
//   block_fuzz -max_total_time=60 -max_len=4096
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/lib/blocks/model_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  constexpr int kBlockSizes[] = {1, 4, 16, 4};
  paged::testing::WalkOptions options{
      .manager = {.num_blocks = 3 + data[0] % 64,
                  .block_size = kBlockSizes[data[1] % 4],
                  .max_seqs = 8,
                  .max_blocks_per_seq = 12,
                  .watermark_blocks = 1,
                  .max_steps_in_flight = 3,
                  .reuse = data[2] % 2 == 0
                               ? paged::ReusePolicy::kSubmissionOrder
                               : paged::ReusePolicy::kAfterRetire,
                  .verify_tokens = data[3] % 4 == 0},
      .num_operations = 10000,
      .choices = {data + 4, size - 4},
      .longest_prompt = 30,
      .digest_bits = data[3] % 8 == 0 ? 8 : 256};
  if (options.choices.empty()) return 0;
  const std::string failure = paged::testing::ModelWalk(options).Run();
  if (failure.empty()) return 0;
  std::fprintf(stderr, "%s\n", failure.c_str());
  std::abort();
}
