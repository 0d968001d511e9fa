#include <array>
#include <utility>

#include "benchmarks/models.h"
#include "benchmarks/shapes.h"

namespace paged::benchmarks {

namespace {

BenchShape With(BenchShape shape, BenchRules rules) {
  shape.rules = rules;
  return shape;
}

// Beside those that differ in one thing: dimensions of values, dtypes of
// queries, scales.
std::vector<BenchShape> DTypeShapes() {
  std::vector<BenchShape> shapes = {
      WithHeadDim(Uniform(64, 2048, 8, 4), 192), Uniform(64, 2048, 8, 4),
      WithDType(Uniform(64, 4096, 8, 4), DType::kFp8E4M3)};
  shapes[0].value_dim = 128;
  shapes[1].own_query_dtype = DType::kF32;
  shapes[2].own_query_dtype = DType::kBF16;
  for (ScaleGranularity scales :
       {ScaleGranularity::kHead, ScaleGranularity::kToken}) {
    shapes.push_back(WithDType(Uniform(64, 4096, 8, 4), DType::kFp8E4M3));
    shapes.back().scales = scales;
  }
  return shapes;
}

}  // namespace

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
  shapes.push_back(With(base, {.has_bias = true}));
  shapes.push_back(With(base, {.q_len = 8}));
  shapes.push_back(With(base, {.q_len = 8, .has_ragged_tokens = true}));
  shapes.push_back(With(base, {.q_len = 8, .has_tree_masks = true}));
  shapes.push_back(
      With(Uniform(16, 16384, 8, 4), {.window = 512, .sink_tokens = 4}));
  for (int q_len : {4, 8}) {
    shapes.push_back(With(WithDType(base, DType::kFp8E4M3), {.q_len = q_len}));
  }
  shapes.push_back(With(WithDType(base, DType::kInt8), {.q_len = 8}));
  for (BenchShape& shape : DTypeShapes()) shapes.push_back(std::move(shape));
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

}  // namespace paged::benchmarks
