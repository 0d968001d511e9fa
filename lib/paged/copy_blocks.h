// Copying whole blocks of a pool: what copy on write asks for.
//
// Example:
//
//     // Blocks of 4 tokens of one kv head, keys alone. Block 2 becomes what
//     // block 1 is, and block 1 what block 2 was.
//     std::vector<float> keys(3 * 4 * 8);
//     keys[1 * 32] = 1.0f;
//     keys[2 * 32] = 2.0f;
//     std::vector<void*> caches = {keys.data()};
//     std::vector<paged::BlockCopy> copies = {{.source = 1, .destination = 2},
//                                             {.source = 2, .destination = 1}};
//     paged::CopyBlocksArgs args{.num_kv_heads = 1,
//                                .head_dim = 8,
//                                .block_size = 4,
//                                .num_blocks = 3,
//                                .dtype = paged::DType::kF32,
//                                .caches = caches,
//                                .copies = copies};
//     CHECK_OK(paged::MakeCpuBackend()->CopyBlocks(args, nullptr));
//     CHECK_EQ(keys[1 * 32], 2.0f);
//     CHECK_EQ(keys[2 * 32], 1.0f);
#ifndef PAGED_LIB_PAGED_COPY_BLOCKS_H_
#define PAGED_LIB_PAGED_COPY_BLOCKS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "paged/args.h"
#include "paged/block_manager_types.h"
#include "paged/dtype.h"

namespace paged {

struct CopyBlocksArgs {
  int num_kv_heads = 0;
  int head_dim = 0;
  int block_size = 16;
  int64_t num_blocks = 0;
  DType dtype = DType::kF16;
  KvStrides strides = {};  // of each cache

  // Pools that hold the same blocks: keys, values, layers. Memory of the
  // backend; no two share an element. What has other sizes, as values of
  // another dimension or the scales of a quantised cache, takes a call of its
  // own.
  absl::Span<void* const> caches = {};
  // Host memory, read before the call returns. No block is the destination of
  // two copies; one may be the source of several, and both.
  absl::Span<const BlockCopy> copies = {};
};

// Checks every rule and fills in the defaults. InvalidArgument names field,
// rule and value.
absl::StatusOr<CopyBlocksArgs> ValidateCopy(const CopyBlocksArgs& args);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_COPY_BLOCKS_H_
