// Decode problems for tests: what a step should compute, and a paged memory
// image in which everything else is poison.
#ifndef PAGED_TESTS_SUPPORT_PROBLEM_H_
#define PAGED_TESTS_SUPPORT_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "paged/args.h"

namespace paged::testing {

// How the pool lies in memory.
enum class Layout {
  kDense,        // [block, slot, head, dim]
  kHeadMajor,    // [block, head, slot, dim]
  kInterleaved,  // [block, slot, head, {key, value}, dim], one pool
  kPaddedRows,   // dense, with gaps after each head, slot and block
  kManyLayers,   // [block, layer, slot, head, dim], the second of 3 layers
};

// What unused memory holds.
enum class Poison {
  kZero,
  kNaN,
  kInf,
  kMinusInf,
  kBytesFF,
  kBytes7F,  // NaN in fp16, the largest numbers in bf16 and fp32
  kRandom,   // finite
  kWords,    // random bits
};
enum class PoisonTarget { kBoth, kKeys, kValues };

// kHeavyTailed makes one element in 64 a hundred times larger.
enum class Values { kUniform, kHeavyTailed };

struct ProblemSpec {
  DType dtype = DType::kF16;              // of the cache
  std::optional<DType> query_dtype = {};  // and the output; empty: as the cache
  int q_len = 1;
  std::vector<int> q_lens = {};  // ragged, at most q_len; empty: q_len each
  bool has_tree_masks = false;   // random, with each token's own bit
  int num_q_heads = 4;
  int num_kv_heads = 2;
  int head_dim = 64;
  int value_dim = 0;  // 0: head_dim
  int block_size = 16;
  std::vector<int32_t> context_lens = {};
  int max_context_len = 0;  // 0: the longest
  // Which content each sequence has: equal ids (and lengths) mean equal
  // queries, keys and values. Empty: 0, 1, 2, ...
  std::vector<int> content_ids = {};

  Layout layout = Layout::kDense;
  int row_padding = 0;  // elements after each query and output row
  Poison poison = Poison::kNaN;
  PoisonTarget poison_target = PoisonTarget::kBoth;
  int32_t tail_entry = 2147480000;  // of the table, past a sequence's blocks
  int extra_blocks = 3;             // that no sequence owns
  // As in DecodeShape. Scales, slopes, sinks and biases are random.
  float key_scale = 1.0f;
  float value_scale = 1.0f;
  ScaleGranularity key_scales = ScaleGranularity::kNone;
  ScaleGranularity value_scales = ScaleGranularity::kNone;
  int window = 0;
  int attention_chunk = 0;
  int sink_tokens = 0;
  float soft_cap = 0.0f;
  bool has_alibi = false;
  bool has_bias = false;
  bool has_sink_logits = false;

  Values values = Values::kUniform;
  uint32_t seed = 1;        // of the content
  uint32_t table_seed = 1;  // of the order of blocks

  int QLenOf(int seq) const {
    return q_lens.empty() ? q_len : q_lens[static_cast<std::size_t>(seq)];
  }
  int ContentIdOf(int seq) const {
    return content_ids.empty() ? seq
                               : content_ids[static_cast<std::size_t>(seq)];
  }
};

// Dense [context_len, num_kv_heads, dim], in the problem's dtype.
struct SequenceContent {
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
  // [context_len, num_kv_heads], where each token has scales of its own.
  std::vector<float> key_scales;
  std::vector<float> value_scales;
};

struct Problem {
  ProblemSpec spec;
  DecodeShape shape;  // strides filled in
  // Dense [query tokens, num_q_heads, head_dim].
  std::vector<std::byte> query;
  std::vector<SequenceContent> sequences;
  // [num_seqs, max_blocks_per_seq]; of live blocks alone, the tail entry else.
  std::vector<int32_t> block_tables;
  // As DecodeArgs has them, NaN where no token is live; or empty.
  std::vector<float> key_scales;
  std::vector<float> value_scales;
  std::vector<int32_t> query_offsets;  // [num_seqs + 1], or empty
  std::vector<uint32_t> tree_masks;    // by query token, or empty
  std::vector<float> alibi_slopes;     // [num_q_heads], or empty
  std::vector<float> sink_logits;      // alike
  // [num_seqs, max_context_len], or empty; NaN where no token is live.
  std::vector<float> bias;

  int num_seqs() const { return static_cast<int>(sequences.size()); }
  int context_len(int seq) const {
    return spec.context_lens[static_cast<std::size_t>(seq)];
  }
  DType query_dtype() const { return spec.query_dtype.value_or(spec.dtype); }
  int value_dim() const {
    return spec.value_dim == 0 ? spec.head_dim : spec.value_dim;
  }
  int q_len(int seq) const;
  // Query tokens of the sequences before `seq`.
  int64_t FirstToken(int seq) const;

  // Whether a query token of the sequence sees the token at `position`.
  bool Sees(int seq, int token, int position) const;
  // Whether any of them does: all others are poison in the pool.
  bool IsLive(int seq, int position) const;

  // What a sequence's codes are multiplied by.
  double KeyScale(int seq, int position, int kv_head) const;
  double ValueScale(int seq, int position, int kv_head) const;

  // Indices into `query`, and into a sequence's keys or values. `q_head` is of
  // the first query token; those of the next one follow.
  int64_t QueryIndex(int seq, int q_head, int dim) const;
  int64_t KeyIndex(int position, int kv_head, int dim) const;
  int64_t ValueIndex(int position, int kv_head, int dim) const;

  void SetQuery(int seq, int q_head, int dim, double value);
  void SetKey(int seq, int position, int kv_head, int dim, double value);
  void SetValue(int seq, int position, int kv_head, int dim, double value);
  void FillQueries(double value);
  void FillKeys(double value);
  void FillValues(double value);
};

Problem MakeProblem(const ProblemSpec& spec);

// The batch's sequence `seq` as a batch of its own, same capacities.
Problem SoloProblem(const ProblemSpec& spec, int seq);

// The bytes of a problem's pools, poison included.
struct PoolImage {
  std::vector<std::byte> keys;    // both, when interleaved
  std::vector<std::byte> values;  // empty when interleaved
  int64_t key_offset = 0;         // elements to the first key
  int64_t value_offset = 0;       // elements to the first value
};

PoolImage MakePoolImage(const Problem& problem);

// `count` elements of poison.
std::vector<std::byte> PoisonElements(DType dtype, Poison poison, int64_t count,
                                      uint32_t seed);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_PROBLEM_H_
