// What a caller says about one decode step: its shape, and its pointers.
//
// Example:
//
//     // Eight sequences of up to 4096 tokens, 32 q heads over 8 kv heads.
//     paged::DecodeShape shape{.num_seqs = 8,
//                              .num_q_heads = 32,
//                              .num_kv_heads = 8,
//                              .head_dim = 128,
//                              .block_size = 16,
//                              .num_blocks = 2048,
//                              .max_blocks_per_seq = 256,
//                              .max_context_len = 4096};
//     CHECK_EQ(paged::ValidateShape(shape)->shape().key.block_stride,
//              16 * 8 * 128);
#ifndef PAGED_LIB_PAGED_ARGS_H_
#define PAGED_LIB_PAGED_ARGS_H_

#include <cstdint>

#include "paged/dtype.h"

namespace paged {

// Strides of [num_blocks, block_size, num_kv_heads, head_dim], in elements.
// All zero means dense. Any order of the first three dimensions is legal, and
// so are gaps: interleaved keys and values, padded rows, layer-major pools.
struct KvStrides {
  int64_t block_stride = 0;
  int64_t slot_stride = 0;
  int64_t head_stride = 0;
  friend bool operator==(const KvStrides&, const KvStrides&) = default;
};

// Strides of [num_seqs, q_len, num_q_heads, head_dim], in elements. All zero
// means dense.
struct RowStrides {
  int64_t seq_stride = 0;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  friend bool operator==(const RowStrides&, const RowStrides&) = default;
};

// Everything about a decode step but its pointers. `num_seqs` and
// `max_context_len` are capacities: a plan made from them, and a CUDA graph
// captured with it, serve every batch whose lengths stay within them.
struct DecodeShape {
  int num_seqs = 0;
  int q_len = 1;  // query tokens per sequence; only 1 is built
  int num_q_heads = 0;
  int num_kv_heads = 0;  // divides num_q_heads
  int head_dim = 0;      // of queries and keys
  int value_dim = 0;     // of values and outputs; 0 means head_dim

  int block_size = 16;         // tokens of a block
  int64_t num_blocks = 0;      // blocks of the pool
  int max_blocks_per_seq = 0;  // columns of the block table
  int max_context_len = 0;     // <= max_blocks_per_seq * block_size
  // What the cost model assumes; 0 means max_context_len.
  int expected_context_len = 0;

  DType query_dtype = DType::kF16;  // the output's as well
  DType kv_dtype = DType::kF16;

  float scale = 0.0f;  // of the scores; 0 means 1 / sqrt(head_dim)
  int window = 0;      // tokens of a sliding window; 0 means none, else unbuilt

  RowStrides query = {};
  KvStrides key = {};
  KvStrides value = {};
  RowStrides output = {};
  int64_t block_table_stride = 0;  // of a row; 0 means max_blocks_per_seq

  friend bool operator==(const DecodeShape&, const DecodeShape&) = default;
};

// A decode step: its shape, and where its tensors lie. Pointers are of the
// backend's memory (device memory on CUDA, host memory on the CPU).
struct DecodeArgs {
  DecodeShape shape = {};

  const void* query = nullptr;      // [num_seqs, q_len, num_q_heads, head_dim]
  const void* key_cache = nullptr;  // [num_blocks, block_size,
                                    //  num_kv_heads, head_dim]
  const void* value_cache = nullptr;  // alike, value_dim; may alias keys

  // [num_seqs, max_blocks_per_seq]. Entries past ceil(context_len /
  // block_size) may hold anything.
  const int32_t* block_tables = nullptr;
  // [num_seqs], each in 0..max_context_len; read by the kernels alone.
  const int32_t* context_lens = nullptr;

  void* output = nullptr;  // [num_seqs, q_len, num_q_heads, value_dim]
  // [num_seqs, q_len, num_q_heads], natural logarithm, dense; optional.
  float* lse = nullptr;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_ARGS_H_
