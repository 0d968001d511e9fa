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
// means dense. Ragged queries have no sequence stride: 0.
struct RowStrides {
  int64_t seq_stride = 0;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  friend bool operator==(const RowStrides&, const RowStrides&) = default;
};

// How far the lengths of a batch lie apart.
enum class LengthSpread : uint8_t { kUniform, kRagged };
// How many scales a tensor of them has.
enum class ScaleGranularity : uint8_t {
  kNone,    // no tensor
  kTensor,  // [1]
  kHead,    // [num_kv_heads]
  kToken,   // [num_blocks, block_size, num_kv_heads], as the pool's blocks
};

// Everything about a decode step but its pointers. `num_seqs` and
// `max_context_len` are capacities: a plan made from them, and a CUDA graph
// captured with it, serve every batch whose lengths stay within them.
struct DecodeShape {
  int num_seqs = 0;
  // Query tokens per sequence, 1 to 32; the most of them where
  // `has_query_offsets` says that sequences have as many as they like. They are
  // the newest tokens of the context: the i-th of q is at position context_len
  // - q + i, and sees nothing behind itself. One at a negative position sees
  // nothing at all. NaN in live data may spoil the rows of all query tokens of
  // its (sequence, kv head).
  int q_len = 1;
  bool has_query_offsets = false;
  // Masks decide which query tokens see each other (speculative trees); they
  // all see the tokens before. Not with window, attention_chunk or has_alibi,
  // whose distances a tree's tokens do not have.
  bool has_tree_masks = false;
  int num_q_heads = 0;
  int num_kv_heads = 0;  // divides num_q_heads
  int head_dim = 0;      // of queries and keys
  int value_dim = 0;     // of values and outputs; 0 means head_dim

  int block_size = 16;         // tokens of a block
  int64_t num_blocks = 0;      // blocks of the pool
  int max_blocks_per_seq = 0;  // columns of the block table
  int max_context_len = 0;     // <= max_blocks_per_seq * block_size
  // What the cost model assumes: the mean length, 0 meaning max_context_len,
  // and whether lengths lie close to it. Ragged batches are cut into chunks of
  // like size by a schedule (Backend::MakeSchedule).
  int expected_context_len = 0;
  LengthSpread lengths = LengthSpread::kUniform;

  DType query_dtype = DType::kF16;  // the output's as well: fp16, bf16 or fp32
  DType kv_dtype = DType::kF16;     // any, whatever the query's

  // Stored keys are codes: key = key_scale * (scale of the tensor key_scales) *
  // code; values alike. Scales are positive and finite; the tensors lie on the
  // device.
  float key_scale = 1.0f;
  float value_scale = 1.0f;
  ScaleGranularity key_scales = ScaleGranularity::kNone;
  ScaleGranularity value_scales = ScaleGranularity::kNone;
  // Of kToken: strides of [num_blocks, block_size, num_kv_heads], in floats;
  // all zero means dense.
  KvStrides key_scale_strides = {};
  KvStrides value_scale_strides = {};

  // Which tokens the query token at position p sees of those up to p: the last
  // `window` (p among them), and those of its own chunk [p / attention_chunk *
  // attention_chunk, p]; but the first `sink_tokens` always. 0 means no such
  // rule. Blocks without a visible token are never read, and their table
  // entries may hold anything.
  int window = 0;
  int attention_chunk = 0;
  int sink_tokens = 0;

  // How q . k becomes a score, in natural units and in this order:
  //
  //     s = scale * (q . k)
  //     s = soft_cap * tanh(s / soft_cap)
  //     s = s + alibi_slopes[q head] * (t - p)    for the key at position t
  //     s = s + bias[sequence][t]
  //
  // At last exp(sink_logits[q head]) joins the sum that weights are divided by,
  // and so the lse. A row that sees no token ends in output 0 and lse minus
  // infinity, with sinks as well.
  float scale = 0.0f;     // 0 means 1 / sqrt(head_dim)
  float soft_cap = 0.0f;  // 0 means none
  // Whether DecodeArgs has these tensors: plans know no pointers.
  bool has_alibi = false;
  bool has_bias = false;
  bool has_sink_logits = false;
  int64_t bias_stride = 0;  // of a sequence; 0 means max_context_len

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

  // [num_seqs, q_len, num_q_heads, head_dim]; with has_query_offsets [query
  // tokens, num_q_heads, head_dim], as output and lse.
  const void* query = nullptr;
  const void* key_cache = nullptr;    // [num_blocks, block_size,
                                      //  num_kv_heads, head_dim]
  const void* value_cache = nullptr;  // alike, value_dim; may alias keys

  // [num_seqs, max_blocks_per_seq]. Entries past ceil(context_len /
  // block_size) may hold anything.
  const int32_t* block_tables = nullptr;
  // [num_seqs], each in 0..max_context_len; read by the kernels alone.
  const int32_t* context_lens = nullptr;

  // With has_query_offsets, [num_seqs + 1], ascending from 0: sequence s has
  // the query tokens [query_offsets[s], query_offsets[s + 1]), at most q_len.
  const int32_t* query_offsets = nullptr;
  // With has_tree_masks, one per query token: bit j says whether it sees query
  // token j of its sequence. A token sees itself by its own bit.
  const uint32_t* tree_masks = nullptr;

  // Float32, with the shape's key_scales and value_scales; else null.
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;

  // Float32, with the shape's has_alibi, has_bias, has_sink_logits; else null.
  const float* alibi_slopes = nullptr;  // [num_q_heads]
  const float* bias = nullptr;          // [num_seqs, max_context_len]; entries
                                        // past the context are not read
  const float* sink_logits = nullptr;   // [num_q_heads]

  void* output = nullptr;  // [num_seqs, q_len, num_q_heads, value_dim]
  // [num_seqs, q_len, num_q_heads], dense; optional. The natural logarithm of
  // the sum of exp(score), whatever the variant.
  float* lse = nullptr;
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_ARGS_H_
