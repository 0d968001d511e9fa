#include "tests/support/problem.h"

#include "tests/support/element.h"

namespace paged::testing {
namespace {

double ScaleOf(const ProblemSpec& spec, float factor,
               ScaleGranularity granularity, const std::vector<float>& tensor,
               const std::vector<float>& of_tokens, int position, int kv_head) {
  switch (granularity) {
    case ScaleGranularity::kNone:
      return factor;
    case ScaleGranularity::kTensor:
      return double{factor} * tensor[0];
    case ScaleGranularity::kHead:
      return double{factor} * tensor[static_cast<std::size_t>(kv_head)];
    case ScaleGranularity::kToken:
      break;
  }
  return double{factor} * of_tokens[static_cast<std::size_t>(
                              position * spec.num_kv_heads + kv_head)];
}

void FillElements(DType dtype, std::vector<std::byte>& tensor, double value) {
  const auto count = static_cast<int64_t>(tensor.size()) / SizeOf(dtype);
  for (int64_t i = 0; i < count; ++i) {
    WriteElement(dtype, tensor.data(), i, value);
  }
}

}  // namespace

int Problem::q_len(int seq) const { return spec.QLenOf(seq); }

int64_t Problem::FirstToken(int seq) const {
  int64_t first = 0;
  for (int i = 0; i < seq; ++i) first += q_len(i);
  return first;
}

bool Problem::Sees(int seq, int token, int position) const {
  const int first_query = context_len(seq) - q_len(seq);
  if (spec.has_tree_masks && position >= first_query) {
    const auto i = static_cast<std::size_t>(FirstToken(seq) + token);
    const int bit = position - first_query;
    return bit < q_len(seq) && (tree_masks[i] >> bit & 1u) != 0;
  }
  const int own = first_query + token;
  if (position > own) return false;
  if (position < spec.sink_tokens) return true;
  if (spec.window > 0 && position <= own - spec.window) return false;
  return spec.attention_chunk == 0 ||
         position / spec.attention_chunk == own / spec.attention_chunk;
}

bool Problem::IsLive(int seq, int position) const {
  for (int token = 0; token < q_len(seq); ++token) {
    if (Sees(seq, token, position)) return true;
  }
  return false;
}

double Problem::KeyScale(int seq, int position, int kv_head) const {
  return ScaleOf(spec, spec.key_scale, spec.key_scales, key_scales,
                 sequences[static_cast<std::size_t>(seq)].key_scales, position,
                 kv_head);
}

double Problem::ValueScale(int seq, int position, int kv_head) const {
  return ScaleOf(spec, spec.value_scale, spec.value_scales, value_scales,
                 sequences[static_cast<std::size_t>(seq)].value_scales,
                 position, kv_head);
}

int64_t Problem::QueryIndex(int seq, int q_head, int dim) const {
  return (FirstToken(seq) * spec.num_q_heads + q_head) * spec.head_dim + dim;
}

int64_t Problem::KeyIndex(int position, int kv_head, int dim) const {
  return (int64_t{position} * spec.num_kv_heads + kv_head) * spec.head_dim +
         dim;
}

int64_t Problem::ValueIndex(int position, int kv_head, int dim) const {
  return (int64_t{position} * spec.num_kv_heads + kv_head) * value_dim() + dim;
}

void Problem::SetQuery(int seq, int q_head, int dim, double value) {
  WriteElement(query_dtype(), query.data(), QueryIndex(seq, q_head, dim),
               value);
}

void Problem::SetKey(int seq, int position, int kv_head, int dim,
                     double value) {
  WriteElement(spec.dtype, sequences[static_cast<std::size_t>(seq)].keys.data(),
               KeyIndex(position, kv_head, dim), value);
}

void Problem::SetValue(int seq, int position, int kv_head, int dim,
                       double value) {
  WriteElement(spec.dtype,
               sequences[static_cast<std::size_t>(seq)].values.data(),
               ValueIndex(position, kv_head, dim), value);
}

void Problem::FillQueries(double value) {
  FillElements(query_dtype(), query, value);
}

void Problem::FillKeys(double value) {
  for (SequenceContent& s : sequences) FillElements(spec.dtype, s.keys, value);
}

void Problem::FillValues(double value) {
  for (SequenceContent& s : sequences) {
    FillElements(spec.dtype, s.values, value);
  }
}

}  // namespace paged::testing
