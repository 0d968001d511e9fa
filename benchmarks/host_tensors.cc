#include "benchmarks/host_tensors.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/core/hash.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {
namespace {

constexpr uint32_t kBiasSeed = 4;

std::vector<int32_t> QueryOffsetsOf(const BenchShape& shape) {
  std::vector<int32_t> offsets = {0};
  for (int seq = 0; seq < shape.num_seqs(); ++seq) {
    offsets.push_back(offsets.back() + shape.q_len(seq));
  }
  return offsets;
}

std::vector<uint32_t> TreeMasksOf(const BenchShape& shape) {
  std::vector<uint32_t> masks;
  for (int seq = 0; seq < shape.num_seqs(); ++seq) {
    for (int token = 0; token < shape.q_len(seq); ++token) {
      masks.push_back(TreeMaskOf(seq, token));
    }
  }
  return masks;
}

// [num_seqs, max_context_len]; NaN where a sequence has no token.
std::vector<float> BiasesOf(const BenchShape& shape) {
  std::vector<float> biases;
  for (int seq = 0; seq < shape.num_seqs(); ++seq) {
    const int len = shape.context_lens[static_cast<size_t>(seq)];
    for (int position = 0; position < shape.max_context_len(); ++position) {
      biases.push_back(position < len
                           ? BiasOf(seq, position)
                           : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return biases;
}

}  // namespace

float QueryAt(DType dtype, int64_t i) {
  const float x = HashUniform(kQuerySeed, i);
  return dtype == DType::kF32 ? 0.9f * x : x;
}

float SlopeOf(int q_head) {
  return std::exp2(-static_cast<float>(q_head % 8 + 1));
}
float SinkOf(int q_head) { return static_cast<float>(q_head % 5) + 3.0f; }

float BiasOf(int seq, int position) {
  return HashUniform(kBiasSeed, (int64_t{seq} << 24) + position);
}

uint32_t TreeMaskOf(int seq, int q_token) {
  uint32_t mask = 1u << q_token;
  for (int token = q_token; token > 0;) {
    token = (token - 1) / (2 + seq % 2);
    mask |= 1u << token;
  }
  return mask;
}

float ScaleOf(uint32_t seed, int64_t i) {
  return 0.75f + HashUniform(seed, i) / 8;
}

void StoreElement(ElementKind kind, float x, std::byte* to) {
  WithElement(kind, [&]<typename Element>(Element) {
    const Element element =
        FromFloat<Element>(kind == ElementKind::kInt8 ? x / kInt8Scale : x);
    std::memcpy(to, &element, sizeof(element));
  });
}

std::vector<std::byte> MakeQueries(const BenchShape& shape) {
  const DType dtype = shape.query_dtype();
  const ElementKind kind = internal::KindOf(dtype);
  const int64_t count =
      shape.num_query_tokens() * shape.num_q_heads() * shape.head_dim;
  std::vector<std::byte> queries(static_cast<size_t>(count * BytesOf(kind)));
  for (int64_t i = 0; i < count; ++i) {
    StoreElement(kind, QueryAt(dtype, i), queries.data() + i * BytesOf(kind));
  }
  return queries;
}

SideTensors::SideTensors(const BenchShape& shape, const BenchTables& tables) {
  const BenchRules& rules = shape.rules;
  if (rules.has_ragged_tokens) query_offsets_ = Add(QueryOffsetsOf(shape));
  if (rules.has_tree_masks) tree_masks_ = Add(TreeMasksOf(shape));
  if (shape.scales != ScaleGranularity::kNone) {
    key_scales_ = AddScales(shape, tables, kKeySeed);
    value_scales_ = AddScales(shape, tables, kValueSeed);
  }
  if (rules.has_alibi) slopes_ = AddByHead(shape, SlopeOf);
  if (rules.has_bias) bias_ = Add(BiasesOf(shape));
  if (rules.has_sink_logits) sink_logits_ = AddByHead(shape, SinkOf);
}

void SideTensors::Bind(const void* copy, DecodeArgs& args) const {
  const auto bind = [&]<typename T>(Offset offset, const T*& pointer) {
    if (!offset.has_value()) return;
    pointer = reinterpret_cast<const T*>(static_cast<const std::byte*>(copy) +
                                         *offset);
  };
  bind(query_offsets_, args.query_offsets);
  bind(tree_masks_, args.tree_masks);
  bind(key_scales_, args.key_scales);
  bind(value_scales_, args.value_scales);
  bind(slopes_, args.alibi_slopes);
  bind(bias_, args.bias);
  bind(sink_logits_, args.sink_logits);
}

template <typename T>
SideTensors::Offset SideTensors::Add(const std::vector<T>& tensor) {
  constexpr std::size_t kAlignment = 16;
  const std::size_t offset =
      (bytes_.size() + kAlignment - 1) / kAlignment * kAlignment;
  bytes_.resize(offset + tensor.size() * sizeof(T));
  std::memcpy(bytes_.data() + offset, tensor.data(), tensor.size() * sizeof(T));
  return offset;
}

SideTensors::Offset SideTensors::AddByHead(const BenchShape& shape,
                                           float (*value)(int q_head)) {
  std::vector<float> values;
  for (int q_head = 0; q_head < shape.num_q_heads(); ++q_head) {
    values.push_back(value(q_head));
  }
  return Add(values);
}

SideTensors::Offset SideTensors::AddScales(const BenchShape& shape,
                                           const BenchTables& tables,
                                           uint32_t seed) {
  int64_t count = 1;
  if (shape.scales != ScaleGranularity::kTensor) count = shape.num_kv_heads;
  if (shape.scales == ScaleGranularity::kToken) {
    count *= tables.table.num_blocks * shape.block_size;
  }
  std::vector<float> scales;
  for (int64_t i = 0; i < count; ++i) scales.push_back(ScaleOf(seed, i));
  return Add(scales);
}

}  // namespace paged::benchmarks
