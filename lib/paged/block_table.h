// From contiguous keys and values to a pool of blocks and its block table.
//
// Example:
//
//     // Sequences of 10 and 25 tokens in shuffled blocks of 16.
//     std::vector<int32_t> lens = {10, 25};
//     paged::BlockTable table =
//         paged::BuildBlockTable(lens, {.block_size = 16, .num_blocks = 14})
//             .value();
//     CHECK_EQ(table.max_blocks_per_seq, 2);
//     CHECK_NE(table.row(1)[0], table.row(1)[1]);
//
//     // Copy both sequences' keys, one float per token, into the pool.
//     std::vector<float> keys(35), pool(14 * 16);
//     for (int i = 0; i < 35; ++i) keys[i] = static_cast<float>(i);
//     CHECK_OK(paged::CopyToBlocks(table, keys.data(), sizeof(float),
//                                  {.data = pool.data(),
//                                   .block_stride_bytes = 16 * sizeof(float),
//                                   .slot_stride_bytes = sizeof(float)}));
//     CHECK_EQ(pool[table.row(1)[1] * 16 + 8], 34.0f);
#ifndef PAGED_LIB_PAGED_BLOCK_TABLE_H_
#define PAGED_LIB_PAGED_BLOCK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace paged {

struct BlockTableOptions {
  int block_size = 16;
  int64_t num_blocks = 0;      // of the pool; 0 means as many as needed
  int max_blocks_per_seq = 0;  // columns; 0 means what the longest needs
  uint32_t seed = 1;           // of the order in which blocks are handed out
  int32_t tail_entry = -1;     // what fills the columns past a sequence's end
};

// Rows of block ids, host memory.
struct BlockTable {
  std::vector<int32_t> entries;  // [num_seqs, max_blocks_per_seq]
  std::vector<int32_t> context_lens;
  int max_blocks_per_seq = 0;
  int block_size = 0;
  int64_t num_blocks = 0;

  int num_seqs() const { return static_cast<int>(context_lens.size()); }
  absl::Span<const int32_t> row(int seq) const;
};

// Deals distinct blocks, in shuffled order, to sequences of `context_lens`
// tokens. InvalidArgument for a negative length, a block_size below 1 or too
// few columns; ResourceExhausted for too few blocks.
absl::StatusOr<BlockTable> BuildBlockTable(
    absl::Span<const int32_t> context_lens, const BlockTableOptions& options);

// A pool whose slots are copied whole: one token, all its kv heads.
struct BlockPool {
  void* data = nullptr;
  std::size_t block_stride_bytes = 0;
  std::size_t slot_stride_bytes = 0;
};

// Copies `bytes_per_token` bytes of each token, sequences one after another in
// `tokens`, into their slots. Other bytes of the pool are left alone. Host
// memory. InvalidArgument, before anything is copied, when there are tokens and
// a pointer is null, or two slots of the pool would share a byte: the shorter
// of the two strides is at least bytes_per_token, and the longer one at least
// what the slots of the shorter one span. A stride that no second block or slot
// uses is ignored.
absl::Status CopyToBlocks(const BlockTable& table, const void* tokens,
                          std::size_t bytes_per_token, const BlockPool& pool);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_BLOCK_TABLE_H_
