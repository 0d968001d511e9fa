// The shapes that are measured, and the names of their rows.
#ifndef PAGED_BENCHMARKS_SHAPES_H_
#define PAGED_BENCHMARKS_SHAPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "paged/args.h"
#include "paged/block_table.h"
#include "paged/dtype.h"

namespace paged::benchmarks {

// What codes of int8 are multiplied by, so that they mean what other elements
// do (HashElement, kernels/core/hash.h).
inline constexpr float kInt8Scale = 0.125f;

// Queries and score rules beyond plain decode, as in DecodeShape.
struct BenchRules {
  int q_len = 1;
  bool has_ragged_tokens = false;  // 1 to q_len, by sequence
  bool has_tree_masks = false;
  int window = 0;
  int attention_chunk = 0;
  int sink_tokens = 0;
  float soft_cap = 0.0f;
  float scale = 0.0f;  // 0: 1 / sqrt(head_dim)
  bool has_alibi = false;
  bool has_bias = false;
  bool has_sink_logits = false;

  friend bool operator==(const BenchRules&, const BenchRules&) = default;
};

struct BenchShape {
  std::string model = {};      // of models.h that it is of; or empty
  std::string lens_name = {};  // of a ragged batch; empty when all are equal
  std::vector<int32_t> context_lens = {};
  int num_kv_heads = 0;
  int group = 0;
  int head_dim = 128;
  int value_dim = 0;  // 0: head_dim
  int block_size = 16;
  DType dtype = DType::kF16;  // of the cache
  // Of queries and outputs; empty: as the cache, fp16 over bytes.
  std::optional<DType> own_query_dtype = {};
  ScaleGranularity scales = ScaleGranularity::kNone;  // of keys and of values
  BenchRules rules = {};
  bool has_ordered_blocks = false;  // neighbours in the table and in the pool

  bool is_ragged() const { return !lens_name.empty(); }
  int num_seqs() const { return static_cast<int>(context_lens.size()); }
  int num_q_heads() const { return num_kv_heads * group; }
  int output_dim() const { return value_dim == 0 ? head_dim : value_dim; }
  int max_context_len() const;
  int64_t num_tokens() const;
  // Query tokens of a sequence, of those before it, and of all.
  int q_len(int seq) const;
  int64_t first_query_token(int seq) const;
  int64_t num_query_tokens() const { return first_query_token(num_seqs()); }
  DType query_dtype() const {
    return own_query_dtype.value_or(SizeOf(dtype) == 1 ? DType::kF16 : dtype);
  }
  // Keys and values that some query token sees, counted once per kv head,
  // without their scales.
  int64_t kv_bytes() const;
};

// Whether the inputs were read recently: warm inputs are the same in every
// call, cold ones rotate through more memory than any cache holds.
enum class Cache : uint8_t { kCold, kWarm };

// decode/<variant>/<dtype>/b:8/ctx:4096/hkv:8/g:4/d:128/bs:16/l2:cold
std::string RowName(absl::string_view variant, const BenchShape& shape,
                    Cache cache);
// The same without variant and cache.
std::string ShapeName(const BenchShape& shape);

// Whether `a` is `b` once `b` has the block size and the order of `a`'s.
bool DifferInBlocksAlone(const BenchShape& a, BenchShape b);

// Sequences of equal lengths; and a shape with something else.
BenchShape Uniform(int num_seqs, int context_len, int num_kv_heads, int group);
BenchShape WithDType(BenchShape shape, DType dtype);
BenchShape WithHeadDim(BenchShape shape, int head_dim);

// With either cache; a model's cold alone.
std::vector<Cache> CachesOf(const BenchShape& shape);

std::vector<BenchShape> GpuShapes();
// What a kernel does beyond plain decode of 16-bit elements.
std::vector<BenchShape> FeatureShapes();
// One of each model, under one load.
std::vector<BenchShape> ModelShapes();
// 8 kv heads of 4 q heads each: what a schedule is for.
std::vector<BenchShape> RaggedShapes();
// Those of GpuShapes with rows "auto_invariant": what batch invariance costs.
std::vector<BenchShape> InvariantShapes();
// What a plan and the enqueueing of a run cost the host.
std::vector<BenchShape> HostShapes();
// Batches of 1 to 256, one by one; then blocks of every size, shuffled and
// ordered: neighbours, whose times per byte should be alike.
std::vector<BenchShape> CliffShapes();
// Whether it is one of those that differ in their blocks alone.
bool VariesBlocks(const BenchShape& shape);
// Small enough for the specification on two cores.
std::vector<BenchShape> CpuShapes();
// What the cost model is fitted to.
std::vector<BenchShape> SweepShapes();

// Disjoint sets of shuffled blocks, `num_sets` batches one after another.
struct BenchTables {
  int num_sets = 0;
  BlockTable table;  // [num_sets * num_seqs, max_blocks_per_seq]

  // Row of sequence 0 of a set, in entries.
  int64_t offset_of(int set, const BenchShape& shape) const {
    return int64_t{set} * shape.num_seqs() * table.max_blocks_per_seq;
  }
};

// Sets of a batch's inputs that reach `rotate_bytes`, and at least two.
int NumSets(const BenchShape& shape, int64_t rotate_bytes);
BenchTables MakeTables(const BenchShape& shape, int64_t rotate_bytes);

// What the library is told about a batch of `shape`.
DecodeShape MakeDecodeShape(const BenchShape& shape, const BenchTables& tables);

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_SHAPES_H_
