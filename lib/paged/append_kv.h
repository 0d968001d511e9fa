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
//
//     // The same token into a cache of int8, whose rows each get a scale.
//     std::vector<int8_t> key_codes(2 * 4 * 8), value_codes(2 * 4 * 8);
//     std::vector<float> key_scales(2 * 4), value_scales(2 * 4);
//     args.dtype = paged::DType::kInt8;
//     args.row_dtype = paged::DType::kF32;
//     args.key_granularity = paged::ScaleGranularity::kToken;
//     args.value_granularity = paged::ScaleGranularity::kToken;
//     args.key_scales = key_scales.data();
//     args.value_scales = value_scales.data();
//     args.key_cache = key_codes.data();
//     args.value_cache = value_codes.data();
//     CHECK_OK(paged::MakeCpuBackend()->AppendKv(args, nullptr));
//     CHECK_EQ(value_codes[6 * 8], 127);
//     CHECK_EQ(value_scales[6], 2.0f / 127);
#ifndef PAGED_LIB_PAGED_APPEND_KV_H_
#define PAGED_LIB_PAGED_APPEND_KV_H_

#include <cstdint>
#include <optional>

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
  DType dtype = DType::kF16;            // of the caches
  std::optional<DType> row_dtype = {};  // of key and value; else as the caches

  // What decode multiplies codes by (DecodeShape has the same): rows of another
  // dtype than the caches', and rows of a tensor with scales, become
  //
  //     code = value / (key_scale * scale of the tensor key_scales)
  //
  // rounded to the nearest, ties to even; values alike. In caches of 8 bits,
  // what is larger than every code becomes the largest one (448 of e4m3, 57344
  // of e5m2, 127 and -128 of int8), infinities too; in those of 16 bits it
  // becomes infinity. NaN stays NaN, and is 0 in int8. Rows of 8 bits are codes
  // already: moved as they are, into caches of their dtype without scales.
  float key_scale = 1.0f;
  float value_scale = 1.0f;
  ScaleGranularity key_granularity = ScaleGranularity::kNone;
  ScaleGranularity value_granularity = ScaleGranularity::kNone;

  const void* key = nullptr;    // [num_tokens, num_kv_heads, head_dim]
  const void* value = nullptr;  // [num_tokens, num_kv_heads, value_dim]
  TokenStrides key_strides = {};
  TokenStrides value_strides = {};

  void* key_cache =
      nullptr;  // [num_blocks, block_size, num_kv_heads, head_dim]
  void* value_cache = nullptr;
  KvStrides key_cache_strides = {};
  KvStrides value_cache_strides = {};

  // One scale, one per kv head (read), or one per (token, kv head) of the pool:
  // those of the tokens are then written. Each is the largest finite magnitude
  // of its row over the largest code (448, 57344, 127; 1 for caches of 16 or 32
  // bits) and over key_scale, and 1 for a row of zeros.
  float* key_scales = nullptr;
  float* value_scales = nullptr;
  // Of one per (token, kv head): strides of [num_blocks, block_size,
  // num_kv_heads], in floats; all zero means dense.
  KvStrides key_scale_strides = {};
  KvStrides value_scale_strides = {};

  // [num_tokens]: block * block_size + slot. A negative entry, and one past
  // the pool, writes nothing. Distinct tokens name distinct slots.
  const int64_t* slot_mapping = nullptr;
};

// Checks every rule and fills in the defaults, row_dtype among them.
// InvalidArgument names field, rule and value.
absl::StatusOr<AppendKvArgs> ValidateAppend(const AppendKvArgs& args);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_APPEND_KV_H_
