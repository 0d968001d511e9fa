#include "tests/baseline/thrust_problem.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/core/hash.h"
#include "kernels/core/online_softmax.h"

namespace paged::testing {
namespace {

constexpr int kPadding = 8;  // elements after each row of query and output
constexpr int32_t kAbsurdBlock = 2147480000;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Visitor>
void VisitElement(ElementKind kind, const Visitor& visitor) {
  if (kind == ElementKind::kF16) return visitor(Half{});
  if (kind == ElementKind::kBF16) return visitor(BFloat16{});
  visitor(0.0f);
}

void Store(ElementKind kind, std::vector<uint8_t>& bytes, int64_t i, float x) {
  VisitElement(kind, [&]<typename T>(T) {
    const T value = FromFloat<T>(x);
    std::memcpy(bytes.data() + i * int64_t{sizeof(T)}, &value, sizeof(T));
  });
}

float LoadFloat(ElementKind kind, const std::vector<uint8_t>& bytes,
                int64_t i) {
  float result = 0.0f;
  VisitElement(kind, [&]<typename T>(T value) {
    std::memcpy(&value, bytes.data() + i * int64_t{sizeof(T)}, sizeof(T));
    result = ToFloat(value);
  });
  return result;
}

std::vector<uint8_t> Poisoned(ElementKind kind, int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count * BytesOf(kind)));
  for (int64_t i = 0; i < count; ++i) Store(kind, bytes, i, kNan);
  return bytes;
}

double Difference(float a, float b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0.0;
  const double difference = std::abs(double{a} - double{b});
  return std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                : difference;
}

}  // namespace

std::vector<ThrustCase> ThrustCases() {
  const auto f16 = ElementKind::kF16;
  const auto bf16 = ElementKind::kBF16;
  const auto f32 = ElementKind::kF32;
  return {
      {"one_token", f32, {1}, 1, 1, 8, 4, 32},
      {"around_a_block", f32, {3, 4, 5}, 2, 1, 16, 4, 8},
      {"empty_among_others", f32, {0, 31, 0, 7}, 2, 3, 8, 4, 32},
      {"all_empty", f16, {0, 0}, 2, 2, 8, 4, 16},
      {"grouped_f16", f16, {10, 25}, 2, 4, 64, 16, 32},
      {"multi_query_bf16", bf16, {33, 64, 1}, 1, 16, 64, 16, 64},
      {"odd_dim_and_group", f32, {13, 29}, 3, 7, 20, 3, 30},
      {"block_of_one", f16, {17, 9}, 2, 2, 128, 1, 17},
      {"long_f16", f16, {1000, 517}, 2, 2, 128, 16, 1024},
      // Longer than the capacity: clamped to it.
      {"beyond_capacity", f32, {40, 12}, 1, 2, 8, 4, 32},
  };
}

ThrustProblem::ThrustProblem(const ThrustCase& shape)
    : c(shape),
      num_q_heads(shape.num_kv_heads * shape.group),
      max_blocks((shape.max_context_len + c.block_size - 1) / c.block_size) {
  const int64_t num_seqs = static_cast<int64_t>(c.context_lens.size());
  const int64_t row_elements = num_rows() * (c.head_dim + kPadding);
  query = Poisoned(c.element, row_elements);
  output = Poisoned(c.element, row_elements);
  lse.assign(static_cast<size_t>(num_rows()), kNan);
  for (int64_t row = 0; row < num_rows(); ++row) {
    for (int d = 0; d < c.head_dim; ++d) {
      Store(c.element, query, row * (c.head_dim + kPadding) + d,
            HashUniform(1, row * c.head_dim + d));
    }
  }

  std::vector<int32_t> blocks(static_cast<size_t>(num_seqs * max_blocks + 3));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7));
  tables.assign(static_cast<size_t>(num_seqs * max_blocks), kAbsurdBlock);
  const int64_t slot_elements = int64_t{c.num_kv_heads} * 2 * c.head_dim;
  pool = Poisoned(c.element, static_cast<int64_t>(blocks.size()) *
                                 c.block_size * slot_elements);
  for (int64_t seq = 0; seq < num_seqs; ++seq) {
    const int len =
        std::min(c.context_lens[static_cast<size_t>(seq)], c.max_context_len);
    for (int t = 0; t < len; ++t) {
      const int64_t entry = seq * max_blocks + t / c.block_size;
      const int32_t block = blocks[static_cast<size_t>(entry)];
      tables[static_cast<size_t>(entry)] = block;
      const int64_t first =
          (int64_t{block} * c.block_size + t % c.block_size) * slot_elements;
      for (int64_t i = 0; i < slot_elements; ++i) {
        Store(c.element, pool, first + i, HashUniform(2, first + i));
      }
    }
  }
}

int64_t ThrustProblem::num_rows() const {
  return static_cast<int64_t>(c.context_lens.size()) * num_q_heads;
}

DecodeParams ThrustProblem::Params(void* query_data, void* pool_data,
                                   void* output_data, float* lse_data,
                                   const int32_t* table_data,
                                   const int32_t* len_data) const {
  const int64_t row_stride = c.head_dim + kPadding;
  const int64_t seq_stride = num_q_heads * row_stride;
  const int64_t head_stride = int64_t{2} * c.head_dim;
  const int64_t slot_stride = c.num_kv_heads * head_stride;
  const int64_t block_stride = c.block_size * slot_stride;
  DecodeParams p;
  p.query = {query_data, seq_stride, seq_stride, row_stride};
  p.output = {output_data, seq_stride, seq_stride, row_stride};
  p.key = {pool_data, block_stride, slot_stride, head_stride};
  p.value = {static_cast<uint8_t*>(pool_data) + c.head_dim * BytesOf(c.element),
             block_stride, slot_stride, head_stride};
  p.lse = lse_data;
  p.block_tables = table_data;
  p.block_table_stride = max_blocks;
  p.context_lens = len_data;
  p.num_seqs = static_cast<int>(c.context_lens.size());
  p.num_kv_heads = c.num_kv_heads;
  p.group = c.group;
  p.key_dim = c.head_dim;
  p.value_dim = c.head_dim;
  p.block_size = c.block_size;
  p.max_context_len = c.max_context_len;
  p.rows_per_item = c.group;
  p.scale_log2 = kLog2E / std::sqrt(static_cast<float>(c.head_dim));
  return p;
}

DecodeParams ThrustProblem::HostParams() {
  return Params(query.data(), pool.data(), output.data(), lse.data(),
                tables.data(), c.context_lens.data());
}

float ThrustProblem::Output(int64_t seq, int q_head, int d) const {
  return LoadFloat(c.element, output,
                   (seq * num_q_heads + q_head) * (c.head_dim + kPadding) + d);
}

double LargestDifference(const ThrustProblem& a, const ThrustProblem& b) {
  double largest = 0.0;
  for (int64_t row = 0; row < a.num_rows(); ++row) {
    const int64_t seq = row / a.num_q_heads;
    const int q_head = static_cast<int>(row % a.num_q_heads);
    for (int d = 0; d < a.c.head_dim; ++d) {
      largest = std::max(largest, Difference(a.Output(seq, q_head, d),
                                             b.Output(seq, q_head, d)));
    }
    const auto i = static_cast<size_t>(row);
    largest = std::max(largest, Difference(a.lse[i], b.lse[i]));
  }
  return largest;
}

double ToleranceOf(ElementKind element) {
  if (element == ElementKind::kF16) return 0x1p-10 + 1e-5;
  if (element == ElementKind::kBF16) return 0x1p-7 + 1e-5;
  return 1e-5;
}

}  // namespace paged::testing
