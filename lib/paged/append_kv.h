// Writing the keys and values of new tokens into the pool.
//
// Example:
//
//     // One new token of one kv head, into slot 2 of block 1.
//     std::vector<float> keys(2 * 4 * 8), values(2 * 4 * 8);
//     std::vector<float> key(8, 1.0f), value(8, 2.0f);
//     std::vector<int64_t> slots = {1 * 4 + 2};
//     paged::AppendKvArgs args{.num_tokens = 1,
//                              .num_kv_heads = 1,
//                              .head_dim = 8,
//                              .block_size = 4,
//                              .num_blocks = 2,
//                              .dtype = paged::DType::kF32,
//                              .key = key.data(),
//                              .value = value.data(),
//                              .key_cache = keys.data(),
//                              .value_cache = values.data(),
//                              .slot_mapping = slots.data()};
//     CHECK_OK(paged::MakeCpuBackend()->AppendKv(args, nullptr));
//     CHECK_EQ(keys[6 * 8], 1.0f);
//     CHECK_EQ(values[6 * 8], 2.0f);
#ifndef PAGED_LIB_PAGED_APPEND_KV_H_
#define PAGED_LIB_PAGED_APPEND_KV_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "paged/args.h"
#include "paged/dtype.h"

namespace paged {

// Strides of [num_tokens, num_kv_heads, head_dim], in elements. All zero means
// dense.
struct TokenStrides {
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  friend bool operator==(const TokenStrides&, const TokenStrides&) = default;
};

// All pointers are in the memory of the backend that runs this: the host's for
// the CPU, the device's (or what the device can reach) for CUDA.
struct AppendKvArgs {
  int num_tokens = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;  // 0 means head_dim
  int block_size = 16;
  int64_t num_blocks = 0;
  DType dtype = DType::kF16;

  const void* key = nullptr;    // [num_tokens, num_kv_heads, head_dim]
  const void* value = nullptr;  // [num_tokens, num_kv_heads, value_dim]
  TokenStrides key_strides = {};
  TokenStrides value_strides = {};

  void* key_cache =
      nullptr;  // [num_blocks, block_size, num_kv_heads, head_dim]
  void* value_cache = nullptr;
  KvStrides key_cache_strides = {};
  KvStrides value_cache_strides = {};

  // [num_tokens]: block * block_size + slot. A negative entry, and one past
  // the pool, writes nothing. Distinct tokens name distinct slots.
  const int64_t* slot_mapping = nullptr;
};

// Checks every rule and fills in the defaults. InvalidArgument names field,
// rule and value.
absl::StatusOr<AppendKvArgs> ValidateAppend(const AppendKvArgs& args);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_APPEND_KV_H_
