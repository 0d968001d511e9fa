#include "benchmarks/shapes.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/core/hash.h"
#include "kernels/core/score_rules.h"

namespace paged::benchmarks {

int BenchShape::max_context_len() const {
  return *std::max_element(context_lens.begin(), context_lens.end());
}

int64_t BenchShape::num_tokens() const {
  return std::accumulate(context_lens.begin(), context_lens.end(), int64_t{0});
}

int BenchShape::q_len(int seq) const {
  if (!rules.has_ragged_tokens) return rules.q_len;
  return 1 + static_cast<int>(Mix(static_cast<uint64_t>(seq)) %
                              static_cast<uint64_t>(rules.q_len));
}

int64_t BenchShape::first_query_token(int seq) const {
  if (!rules.has_ragged_tokens) return int64_t{seq} * rules.q_len;
  int64_t first = 0;
  for (int i = 0; i < seq; ++i) first += q_len(i);
  return first;
}

int64_t BenchShape::kv_bytes() const {
  const ScoreRules score_rules = {.window = rules.window,
                                  .chunk = rules.attention_chunk,
                                  .sink_tokens = rules.sink_tokens};
  int64_t tokens = 0;
  for (int seq = 0; seq < num_seqs(); ++seq) {
    const int32_t len = context_lens[static_cast<size_t>(seq)];
    const VisibleTokens visible =
        VisibleTokensOfAny(score_rules, len - q_len(seq), len - 1);
    tokens += visible.end - visible.begin + visible.sink_end;
  }
  return tokens * num_kv_heads * (head_dim + output_dim()) * SizeOf(dtype);
}

namespace {

const char* SegmentOf(ScaleGranularity scales) {
  switch (scales) {
    case ScaleGranularity::kTensor:
      return "/scales:tensor";
    case ScaleGranularity::kHead:
      return "/scales:head";
    case ScaleGranularity::kToken:
      return "/scales:token";
    case ScaleGranularity::kNone:
      break;
  }
  return "";
}

std::string SegmentsOf(const BenchRules& rules) {
  const auto count = [](const char* name, auto value) {
    return value == 0 ? "" : absl::StrCat("/", name, ":", value);
  };
  return absl::StrCat(
      rules.q_len == 1 ? "" : count("q", rules.q_len),
      rules.has_ragged_tokens ? "/tokens:ragged" : "",
      rules.has_tree_masks ? "/tree" : "", count("window", rules.window),
      count("chunk", rules.attention_chunk),
      count("sink_tokens", rules.sink_tokens), count("cap", rules.soft_cap),
      rules.has_alibi ? "/alibi" : "", rules.has_bias ? "/bias" : "",
      rules.has_sink_logits ? "/sinks" : "");
}

}  // namespace

std::string ShapeName(const BenchShape& shape) {
  const std::string lens = !shape.is_ragged()
                               ? absl::StrCat("ctx:", shape.max_context_len())
                               : absl::StrCat("lens:", shape.lens_name);
  return absl::StrCat(
      shape.model.empty() ? "" : absl::StrCat("model:", shape.model, "/"),
      NameOf(shape.dtype), "/b:", shape.num_seqs(), "/", lens,
      "/hkv:", shape.num_kv_heads, "/g:", shape.group, "/d:", shape.head_dim,
      shape.value_dim == 0 ? "" : absl::StrCat("/dv:", shape.value_dim),
      "/bs:", shape.block_size, SegmentsOf(shape.rules),
      SegmentOf(shape.scales),
      shape.own_query_dtype.has_value()
          ? absl::StrCat("/query:", NameOf(*shape.own_query_dtype))
          : "",
      shape.has_ordered_blocks ? "/ordered" : "");
}

bool DifferInBlocksAlone(const BenchShape& a, BenchShape b) {
  b.block_size = a.block_size;
  b.has_ordered_blocks = a.has_ordered_blocks;
  return ShapeName(a) == ShapeName(b);
}

std::vector<Cache> CachesOf(const BenchShape& shape) {
  if (!shape.model.empty()) return {Cache::kCold};
  return {Cache::kCold, Cache::kWarm};
}

std::string RowName(absl::string_view variant, const BenchShape& shape,
                    Cache cache) {
  return absl::StrCat("decode/", variant, "/", ShapeName(shape),
                      cache == Cache::kCold ? "/l2:cold" : "/l2:warm");
}

int NumSets(const BenchShape& shape, int64_t rotate_bytes) {
  const int64_t kv_bytes = shape.kv_bytes();
  return static_cast<int>(
      std::max<int64_t>(2, (rotate_bytes + kv_bytes - 1) / kv_bytes));
}

BenchTables MakeTables(const BenchShape& shape, int64_t rotate_bytes) {
  BenchTables tables;
  tables.num_sets = NumSets(shape, rotate_bytes);
  std::vector<int32_t> lens;
  for (int set = 0; set < tables.num_sets; ++set) {
    lens.insert(lens.end(), shape.context_lens.begin(),
                shape.context_lens.end());
  }
  // The lengths are positive and the pool as large as needed: cannot fail.
  tables.table =
      BuildBlockTable(lens, {.block_size = shape.block_size}).value();
  if (shape.has_ordered_blocks) {
    int32_t next = 0;
    for (int32_t& block : tables.table.entries) {
      if (block >= 0) block = next++;
    }
  }
  return tables;
}

DecodeShape MakeDecodeShape(const BenchShape& shape,
                            const BenchTables& tables) {
  DecodeShape result;
  result.num_seqs = shape.num_seqs();
  result.num_q_heads = shape.num_q_heads();
  result.num_kv_heads = shape.num_kv_heads;
  result.head_dim = shape.head_dim;
  result.value_dim = shape.value_dim;
  result.block_size = shape.block_size;
  result.num_blocks = tables.table.num_blocks;
  result.max_blocks_per_seq = tables.table.max_blocks_per_seq;
  result.max_context_len = shape.max_context_len();
  result.expected_context_len =
      static_cast<int>(shape.num_tokens() / shape.num_seqs());
  if (shape.is_ragged()) result.lengths = LengthSpread::kRagged;
  result.query_dtype = shape.query_dtype();
  result.kv_dtype = shape.dtype;
  if (shape.dtype == DType::kInt8) {
    result.key_scale = result.value_scale = kInt8Scale;
  }
  result.key_scales = result.value_scales = shape.scales;
  result.q_len = shape.rules.q_len;
  result.has_query_offsets = shape.rules.has_ragged_tokens;
  result.has_tree_masks = shape.rules.has_tree_masks;
  result.window = shape.rules.window;
  result.attention_chunk = shape.rules.attention_chunk;
  result.sink_tokens = shape.rules.sink_tokens;
  result.soft_cap = shape.rules.soft_cap;
  result.scale = shape.rules.scale;
  result.has_alibi = shape.rules.has_alibi;
  result.has_bias = shape.rules.has_bias;
  result.has_sink_logits = shape.rules.has_sink_logits;
  return result;
}

}  // namespace paged::benchmarks
