#include "tests/support/problem.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/element.h"

namespace paged::testing {
namespace {

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

int ContentId(const ProblemSpec& spec, int seq) {
  return spec.content_ids.empty()
             ? seq
             : spec.content_ids[static_cast<std::size_t>(seq)];
}

// A tensor's numbers, from a generator of its own: the content of a sequence
// depends on its id, not on its neighbours.
std::vector<std::byte> RandomElements(const ProblemSpec& spec, int content_id,
                                      int which, int64_t count) {
  std::seed_seq seeds{spec.seed, static_cast<uint32_t>(content_id),
                      static_cast<uint32_t>(which)};
  std::mt19937_64 random(seeds);
  std::vector<std::byte> elements(
      static_cast<std::size_t>(count * SizeOf(spec.dtype)));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    double value = static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
    if (spec.values == Values::kHeavyTailed && bits % 64 == 0) value *= 100.0;
    WriteElement(spec.dtype, elements.data(), i, value);
  }
  return elements;
}

// Deals shuffled blocks; columns past a sequence's blocks get the tail entry.
std::vector<int32_t> MakeTable(const ProblemSpec& spec, int64_t num_blocks,
                               int width) {
  std::vector<int32_t> blocks(static_cast<std::size_t>(num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(spec.table_seed));
  std::vector<int32_t> table(
      spec.context_lens.size() * static_cast<std::size_t>(width),
      spec.tail_entry);
  auto next = blocks.begin();
  auto row = table.begin();
  for (int32_t context_len : spec.context_lens) {
    const int count = CeilDiv(context_len, spec.block_size);
    std::copy(next, next + count, row);
    next += count;
    row += width;
  }
  return table;
}

KvStrides StridesOf(const ProblemSpec& spec) {
  const int64_t dim = spec.head_dim;
  const int64_t heads = spec.num_kv_heads;
  const int64_t slots = spec.block_size;
  switch (spec.layout) {
    case Layout::kDense:
      return {slots * heads * dim, heads * dim, dim};
    case Layout::kHeadMajor:
      return {slots * heads * dim, dim, slots * dim};
    case Layout::kInterleaved:
      return {slots * heads * 2 * dim, heads * 2 * dim, 2 * dim};
    case Layout::kPaddedRows: {
      const int64_t slot = heads * (dim + 8) + 16;
      return {slots * slot + 24, slot, dim + 8};
    }
    case Layout::kManyLayers:
      return {3 * slots * heads * dim, heads * dim, dim};
  }
  return {};
}

void FillElements(DType dtype, std::vector<std::byte>& tensor, double value) {
  const auto count = static_cast<int64_t>(tensor.size()) / SizeOf(dtype);
  for (int64_t i = 0; i < count; ++i) {
    WriteElement(dtype, tensor.data(), i, value);
  }
}

}  // namespace

int64_t Problem::QueryIndex(int seq, int q_head, int dim) const {
  return (int64_t{seq} * spec.num_q_heads + q_head) * spec.head_dim + dim;
}

int64_t Problem::ContentIndex(int position, int kv_head, int dim) const {
  return (int64_t{position} * spec.num_kv_heads + kv_head) * spec.head_dim +
         dim;
}

void Problem::SetQuery(int seq, int q_head, int dim, double value) {
  WriteElement(spec.dtype, query.data(), QueryIndex(seq, q_head, dim), value);
}

void Problem::SetKey(int seq, int position, int kv_head, int dim,
                     double value) {
  WriteElement(spec.dtype, sequences[static_cast<std::size_t>(seq)].keys.data(),
               ContentIndex(position, kv_head, dim), value);
}

void Problem::SetValue(int seq, int position, int kv_head, int dim,
                       double value) {
  WriteElement(spec.dtype,
               sequences[static_cast<std::size_t>(seq)].values.data(),
               ContentIndex(position, kv_head, dim), value);
}

void Problem::FillQueries(double value) {
  FillElements(spec.dtype, query, value);
}

void Problem::FillKeys(double value) {
  for (SequenceContent& s : sequences) FillElements(spec.dtype, s.keys, value);
}

void Problem::FillValues(double value) {
  for (SequenceContent& s : sequences) {
    FillElements(spec.dtype, s.values, value);
  }
}

Problem MakeProblem(const ProblemSpec& spec) {
  Problem problem;
  problem.spec = spec;
  const int64_t row = int64_t{spec.num_q_heads} * spec.head_dim;
  int64_t num_blocks = spec.extra_blocks;
  int longest = spec.max_context_len;
  for (std::size_t i = 0; i < spec.context_lens.size(); ++i) {
    const int32_t context_len = spec.context_lens[i];
    const int id = ContentId(spec, static_cast<int>(i));
    const int64_t count =
        int64_t{context_len} * spec.num_kv_heads * spec.head_dim;
    const std::vector<std::byte> query = RandomElements(spec, id, 0, row);
    problem.query.insert(problem.query.end(), query.begin(), query.end());
    problem.sequences.push_back({RandomElements(spec, id, 1, count),
                                 RandomElements(spec, id, 2, count)});
    num_blocks += CeilDiv(context_len, spec.block_size);
    if (spec.max_context_len == 0) longest = std::max(longest, context_len);
  }
  const int width = CeilDiv(longest, spec.block_size);
  problem.block_tables = MakeTable(spec, num_blocks, width);

  const KvStrides kv = StridesOf(spec);
  const int64_t head_stride = spec.head_dim + spec.row_padding;
  const RowStrides rows{spec.num_q_heads * head_stride,
                        spec.num_q_heads * head_stride, head_stride};
  problem.shape = {.num_seqs = static_cast<int>(spec.context_lens.size()),
                   .num_q_heads = spec.num_q_heads,
                   .num_kv_heads = spec.num_kv_heads,
                   .head_dim = spec.head_dim,
                   .block_size = spec.block_size,
                   .num_blocks = num_blocks,
                   .max_blocks_per_seq = width,
                   .max_context_len = longest,
                   .query_dtype = spec.dtype,
                   .kv_dtype = spec.dtype,
                   .query = rows,
                   .key = kv,
                   .value = kv,
                   .output = rows};
  return problem;
}

Problem SoloProblem(const ProblemSpec& spec, int seq) {
  ProblemSpec solo = spec;
  solo.context_lens = {spec.context_lens[static_cast<std::size_t>(seq)]};
  solo.content_ids = {ContentId(spec, seq)};
  if (solo.max_context_len == 0) {
    solo.max_context_len =
        *std::max_element(spec.context_lens.begin(), spec.context_lens.end());
  }
  return MakeProblem(solo);
}

}  // namespace paged::testing
