#include "benchmarks/shapes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "benchmarks/models.h"
#include "kernels/core/hash.h"
#include "kernels/core/score_rules.h"

namespace paged::benchmarks {
BenchShape Uniform(int num_seqs, int context_len, int num_kv_heads, int group) {
  return {.context_lens =
              std::vector<int32_t>(static_cast<size_t>(num_seqs), context_len),
          .num_kv_heads = num_kv_heads,
          .group = group};
}

namespace {

BenchShape WithDType(BenchShape shape, DType dtype) {
  shape.dtype = dtype;
  return shape;
}

BenchShape WithHeadDim(BenchShape shape, int head_dim) {
  shape.head_dim = head_dim;
  return shape;
}

BenchShape With(BenchShape shape, BenchRules rules) {
  shape.rules = rules;
  return shape;
}

// 32 sequences of 100..1000 tokens, multi-head.
BenchShape Uniform100To1000() {
  BenchShape shape = {
      .lens_name = "uniform_100_1000", .num_kv_heads = 32, .group = 1};
  for (uint64_t i = 0; i < 32; ++i) {
    shape.context_lens.push_back(100 + static_cast<int32_t>(Mix(i) % 901));
  }
  return shape;
}

BenchShape Ragged(const char* name, std::vector<int32_t> context_lens) {
  return {.lens_name = name,
          .context_lens = std::move(context_lens),
          .num_kv_heads = 8,
          .group = 4};
}

// `count` of `others`, and one long sequence among them.
std::vector<int32_t> OneAmong(int count, int others, size_t place,
                              int longest) {
  std::vector<int32_t> lens(static_cast<size_t>(count), others);
  lens[place] = longest;
  return lens;
}

}  // namespace

int BenchShape::max_context_len() const {
  return *std::max_element(context_lens.begin(), context_lens.end());
}

int64_t BenchShape::num_tokens() const {
  return std::accumulate(context_lens.begin(), context_lens.end(), int64_t{0});
}

int64_t BenchShape::kv_bytes() const {
  const ScoreRules score_rules = {.window = rules.window,
                                  .chunk = rules.attention_chunk};
  int64_t tokens = 0;
  for (int32_t len : context_lens) {
    const VisibleTokens visible =
        VisibleTokensOfAny(score_rules, len - rules.q_len, len - 1);
    tokens += visible.end - visible.begin;
  }
  return tokens * num_kv_heads * head_dim * 2 * SizeOf(dtype);
}

std::string ShapeName(const BenchShape& shape) {
  const std::string lens = !shape.is_ragged()
                               ? absl::StrCat("ctx:", shape.max_context_len())
                               : absl::StrCat("lens:", shape.lens_name);
  const BenchRules& rules = shape.rules;
  const auto count = [](const char* name, auto value) {
    return value == 0 ? "" : absl::StrCat("/", name, ":", value);
  };
  return absl::StrCat(
      shape.model.empty() ? "" : absl::StrCat("model:", shape.model, "/"),
      NameOf(shape.dtype), "/b:", shape.num_seqs(), "/", lens,
      "/hkv:", shape.num_kv_heads, "/g:", shape.group, "/d:", shape.head_dim,
      "/bs:", shape.block_size, rules.q_len == 1 ? "" : count("q", rules.q_len),
      count("window", rules.window), count("chunk", rules.attention_chunk),
      count("cap", rules.soft_cap), rules.has_alibi ? "/alibi" : "",
      rules.has_sink_logits ? "/sinks" : "");
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

std::vector<BenchShape> GpuShapes() {
  std::vector<BenchShape> shapes;
  // 8 q heads over 4 kv heads, batch by context.
  for (int num_seqs : {8, 64}) {
    for (int context_len : {128, 256, 512, 1024, 2048, 4096}) {
      shapes.push_back(Uniform(num_seqs, context_len, 4, 2));
    }
  }
  shapes.push_back(Uniform100To1000());
  for (int context_len : {128, 512, 1024, 4096, 16384, 131072}) {
    shapes.push_back(Uniform(1, context_len, 8, 4));
  }
  shapes.push_back(Uniform(8, 1024, 8, 4));
  shapes.push_back(Uniform(16, 512, 8, 4));
  shapes.push_back(Uniform(16, 2048, 8, 4));
  shapes.push_back(Uniform(64, 4096, 8, 4));
  shapes.push_back(Uniform(256, 1024, 8, 4));
  shapes.push_back(Uniform(32, 1000, 32, 1));
  shapes.push_back(Uniform(16, 8192, 8, 8));
  shapes.push_back(Uniform(32, 4096, 1, 16));
  shapes.push_back(Uniform(32, 4096, 4, 7));
  shapes.push_back(Uniform(32, 4096, 1, 32));
  // The other dtype and the other head_dim.
  shapes.push_back(WithDType(Uniform(16, 2048, 8, 4), DType::kBF16));
  shapes.push_back(WithDType(Uniform(64, 4096, 8, 4), DType::kBF16));
  shapes.push_back(WithHeadDim(Uniform(8, 1024, 8, 4), 64));
  shapes.push_back(WithHeadDim(Uniform(64, 2048, 8, 4), 64));
  for (BenchShape& shape : RaggedShapes()) shapes.push_back(std::move(shape));
  for (BenchShape& shape : FeatureShapes()) shapes.push_back(std::move(shape));
  for (BenchShape& shape : ModelShapes()) shapes.push_back(std::move(shape));
  return shapes;
}

std::vector<BenchShape> FeatureShapes() {
  std::vector<BenchShape> shapes;
  for (const auto& [num_seqs, context_len, num_kv_heads, group] :
       {std::array{8, 1024, 4, 2}, std::array{1, 1024, 8, 4},
        std::array{16, 2048, 8, 4}, std::array{64, 4096, 8, 4},
        std::array{256, 1024, 8, 4}, std::array{16, 8192, 8, 8},
        std::array{1, 131072, 8, 4}}) {
    shapes.push_back(WithDType(
        Uniform(num_seqs, context_len, num_kv_heads, group), DType::kFp8E4M3));
  }
  for (DType dtype : {DType::kFp8E5M2, DType::kInt8, DType::kF32}) {
    shapes.push_back(WithDType(Uniform(64, 4096, 8, 4), dtype));
  }
  for (int head_dim : {80, 96, 112, 192, 256, 72, 160}) {
    shapes.push_back(WithHeadDim(Uniform(64, 2048, 8, 4), head_dim));
  }
  shapes.push_back(WithHeadDim(Uniform(64, 1024, 2, 4), 512));
  for (int num_seqs : {1, 16}) {
    for (int context_len : {16384, 131072}) {
      shapes.push_back(
          With(Uniform(num_seqs, context_len, 8, 4), {.window = 512}));
    }
  }
  for (int q_len : {1, 2, 4, 8, 16}) {
    shapes.push_back(With(Uniform(1, 32768, 8, 4), {.q_len = q_len}));
    shapes.push_back(With(Uniform(16, 32768, 8, 4), {.q_len = q_len}));
  }
  const BenchShape base = Uniform(64, 2048, 8, 4);
  shapes.push_back(base);
  shapes.push_back(With(base, {.soft_cap = 50.0f}));
  shapes.push_back(With(base, {.has_alibi = true}));
  shapes.push_back(With(base, {.has_sink_logits = true}));
  shapes.push_back(With(base, {.attention_chunk = 1500}));
  return shapes;
}

std::vector<BenchShape> ModelShapes() {
  std::vector<BenchShape> shapes;
  for (const Model& model : kModels) {
    BenchShape shape = Uniform(16, 4096, model.num_kv_heads,
                               model.num_q_heads / model.num_kv_heads);
    shape.model = model.name;
    shape.head_dim = model.head_dim;
    shape.dtype = DType::kBF16;
    shape.rules = {.window = model.window,
                   .attention_chunk = model.attention_chunk,
                   .soft_cap = model.soft_cap,
                   .scale = model.scale,
                   .has_alibi = model.has_alibi,
                   .has_sink_logits = model.has_sink_logits};
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::vector<BenchShape> RaggedShapes() {
  std::vector<int32_t> zipf(64);
  for (int i = 0; i < 64; ++i) {
    zipf[static_cast<size_t>(i)] = std::max(16, 32768 / (i + 1));
  }
  std::vector<int32_t> shuffled = zipf;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  std::vector<int32_t> half_empty(256);
  std::vector<int32_t> any(512);
  for (int i = 0; i < 256; i += 2) {
    half_empty[static_cast<size_t>(i)] = 2048 + i * 37 % 97;
  }
  for (int i = 0; i < 512; ++i) {
    any[static_cast<size_t>(i)] = 1 + i * 7919 % 4000;
  }
  std::vector<int32_t> many(1024);
  for (int i = 0; i < 1024; ++i) {
    many[static_cast<size_t>(i)] = 1 + i * 7919 % 1500;
  }
  return {Ragged("one_131072_among_1024", OneAmong(64, 1024, 0, 131072)),
          Ragged("one_131072_in_the_middle", OneAmong(64, 1024, 37, 131072)),
          Ragged("zipf_32768", std::move(zipf)),
          Ragged("zipf_32768_shuffled", std::move(shuffled)),
          Ragged("half_empty_2048", std::move(half_empty)),
          Ragged("one_65536_among_130", OneAmong(256, 130, 9, 65536)),
          Ragged("any_1_4000", std::move(any)),
          Ragged("any_1_1500", std::move(many))};
}

std::vector<BenchShape> CpuShapes() {
  return {Uniform(8, 128, 4, 2),
          Uniform(8, 1024, 4, 2),
          Uniform(1, 1024, 8, 4),
          Uniform(1, 4096, 8, 4),
          WithDType(Uniform(1, 1024, 8, 4), DType::kBF16),
          WithHeadDim(Uniform(8, 512, 8, 4), 64)};
}

std::vector<BenchShape> SweepShapes() {
  std::vector<BenchShape> shapes = {Uniform(8, 128, 4, 2),
                                    Uniform(8, 512, 4, 2),
                                    Uniform(8, 1024, 4, 2),
                                    Uniform(8, 4096, 4, 2),
                                    Uniform(64, 1024, 4, 2),
                                    Uniform(64, 4096, 4, 2),
                                    Uniform(1, 128, 8, 4),
                                    Uniform(1, 1024, 8, 4),
                                    Uniform(1, 4096, 8, 4),
                                    Uniform(1, 16384, 8, 4),
                                    Uniform(1, 131072, 8, 4),
                                    Uniform(8, 1024, 8, 4),
                                    Uniform(16, 512, 8, 4),
                                    Uniform(16, 2048, 8, 4),
                                    Uniform(64, 4096, 8, 4),
                                    Uniform(256, 1024, 8, 4),
                                    Uniform(32, 1000, 32, 1),
                                    Uniform100To1000(),
                                    Uniform(16, 8192, 8, 8),
                                    Uniform(32, 4096, 1, 16),
                                    WithHeadDim(Uniform(8, 1024, 8, 4), 64),
                                    WithHeadDim(Uniform(64, 2048, 8, 4), 64)};
  for (BenchShape& shape : RaggedShapes()) shapes.push_back(std::move(shape));
  return shapes;
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
  return tables;
}

DecodeShape MakeDecodeShape(const BenchShape& shape,
                            const BenchTables& tables) {
  DecodeShape result;
  result.num_seqs = shape.num_seqs();
  result.num_q_heads = shape.num_q_heads();
  result.num_kv_heads = shape.num_kv_heads;
  result.head_dim = shape.head_dim;
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
  result.q_len = shape.rules.q_len;
  result.window = shape.rules.window;
  result.attention_chunk = shape.rules.attention_chunk;
  result.soft_cap = shape.rules.soft_cap;
  result.scale = shape.rules.scale;
  result.has_alibi = shape.rules.has_alibi;
  result.has_sink_logits = shape.rules.has_sink_logits;
  return result;
}

}  // namespace paged::benchmarks
