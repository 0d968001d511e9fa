// Problems from their specifications: contents, tables, scales and rules, all
// from seeds.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/support/element.h"
#include "tests/support/problem.h"

namespace paged::testing {
namespace {

int CeilDiv(int a, int b) { return (a + b - 1) / b; }

// One generator per tensor and content: the content of a sequence depends on
// its id, not on its neighbours.
std::mt19937_64 GeneratorOf(const ProblemSpec& spec, int content_id,
                            int which) {
  std::seed_seq seeds{spec.seed, static_cast<uint32_t>(content_id),
                      static_cast<uint32_t>(which)};
  return std::mt19937_64(seeds);
}

// In [-1, 1).
double Uniform(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
}

std::vector<std::byte> RandomElements(const ProblemSpec& spec, DType dtype,
                                      int content_id, int which,
                                      int64_t count) {
  std::mt19937_64 random = GeneratorOf(spec, content_id, which);
  std::vector<std::byte> elements(
      static_cast<std::size_t>(count * SizeOf(dtype)));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    double value = Uniform(bits);
    if (spec.values == Values::kHeavyTailed && bits % 64 == 0) value *= 100.0;
    if (dtype == DType::kInt8) value *= 100.0;  // codes are whole numbers
    WriteElement(dtype, elements.data(), i, value);
  }
  return elements;
}

// In [low, high).
std::vector<float> RandomFloats(const ProblemSpec& spec, int which, int count,
                                double low, double high) {
  std::mt19937_64 random = GeneratorOf(spec, 0, which);
  std::vector<float> floats(static_cast<std::size_t>(count));
  for (float& x : floats) {
    x = static_cast<float>(low + (high - low) * (Uniform(random()) + 1) / 2);
  }
  return floats;
}

// Deals shuffled blocks; columns without a live token get the tail entry.
void MakeTable(Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  std::vector<int32_t> blocks(
      static_cast<std::size_t>(problem.shape.num_blocks));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(spec.table_seed));
  const auto width = static_cast<std::size_t>(problem.shape.max_blocks_per_seq);
  problem.block_tables.assign(spec.context_lens.size() * width,
                              spec.tail_entry);
  std::size_t next = 0;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const int count = CeilDiv(problem.context_len(seq), spec.block_size);
    for (int column = 0; column < count; ++column, ++next) {
      bool is_live = false;
      for (int slot = 0; slot < spec.block_size && !is_live; ++slot) {
        is_live = problem.IsLive(seq, column * spec.block_size + slot);
      }
      if (!is_live) continue;
      problem.block_tables[static_cast<std::size_t>(seq) * width +
                           static_cast<std::size_t>(column)] = blocks[next];
    }
  }
}

// The scales of a tensor that the device is given.
std::vector<float> ScaleTensor(
    const Problem& problem, ScaleGranularity granularity, int which,
    std::vector<float> SequenceContent::*token_scales) {
  const ProblemSpec& spec = problem.spec;
  switch (granularity) {
    case ScaleGranularity::kNone:
      return {};
    case ScaleGranularity::kTensor:
      return RandomFloats(spec, which, 1, 0.3, 2.0);
    case ScaleGranularity::kHead:
      return RandomFloats(spec, which, spec.num_kv_heads, 0.3, 2.0);
    case ScaleGranularity::kToken:
      break;
  }
  const auto heads = static_cast<std::size_t>(spec.num_kv_heads);
  const auto slots = static_cast<std::size_t>(spec.block_size);
  std::vector<float> pool(
      static_cast<std::size_t>(problem.shape.num_blocks) * slots * heads, NAN);
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const std::vector<float>& from =
        problem.sequences[static_cast<std::size_t>(seq)].*token_scales;
    for (int t = 0; t < problem.context_len(seq); ++t) {
      if (!problem.IsLive(seq, t)) continue;
      const int32_t block = problem.block_tables[static_cast<std::size_t>(
          seq * problem.shape.max_blocks_per_seq + t / spec.block_size)];
      const std::size_t to = static_cast<std::size_t>(block) * slots +
                             static_cast<std::size_t>(t % spec.block_size);
      std::copy_n(from.begin() + t * spec.num_kv_heads, heads,
                  pool.begin() + static_cast<std::ptrdiff_t>(to * heads));
    }
  }
  return pool;
}

void MakeScales(Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    SequenceContent& content = problem.sequences[static_cast<std::size_t>(seq)];
    ProblemSpec seeded = spec;
    seeded.seed += static_cast<uint32_t>(2000 + spec.ContentIdOf(seq));
    const int count = problem.context_len(seq) * spec.num_kv_heads;
    if (spec.key_scales == ScaleGranularity::kToken) {
      content.key_scales = RandomFloats(seeded, 7, count, 0.3, 2.0);
    }
    if (spec.value_scales == ScaleGranularity::kToken) {
      content.value_scales = RandomFloats(seeded, 8, count, 0.3, 2.0);
    }
  }
  problem.key_scales =
      ScaleTensor(problem, spec.key_scales, 9, &SequenceContent::key_scales);
  problem.value_scales = ScaleTensor(problem, spec.value_scales, 10,
                                     &SequenceContent::value_scales);
}

void MakeTokens(Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  if (!spec.q_lens.empty()) {
    for (int seq = 0; seq <= problem.num_seqs(); ++seq) {
      problem.query_offsets.push_back(
          static_cast<int32_t>(problem.FirstToken(seq)));
    }
  }
  if (!spec.has_tree_masks) return;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    std::mt19937_64 random = GeneratorOf(spec, spec.ContentIdOf(seq), 6);
    for (int token = 0; token < problem.q_len(seq); ++token) {
      // Bits past the sequence's tokens mean nothing.
      problem.tree_masks.push_back(static_cast<uint32_t>(random()) |
                                   uint32_t{1} << token);
    }
  }
}

void MakeModifiers(Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  if (spec.has_alibi) {
    problem.alibi_slopes = RandomFloats(spec, 3, spec.num_q_heads, 0.004, 0.7);
  }
  if (spec.has_sink_logits) {
    problem.sink_logits = RandomFloats(spec, 4, spec.num_q_heads, -2.0, 3.0);
  }
  if (!spec.has_bias) return;
  const int stride = problem.shape.max_context_len;
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    ProblemSpec seeded = spec;
    seeded.seed += static_cast<uint32_t>(1000 + spec.ContentIdOf(seq));
    std::vector<float> row = RandomFloats(seeded, 5, stride, -1.5, 1.5);
    for (int t = 0; t < stride; ++t) {
      if (!problem.IsLive(seq, t)) row[static_cast<std::size_t>(t)] = NAN;
    }
    problem.bias.insert(problem.bias.end(), row.begin(), row.end());
  }
}

// Of the keys, or of the values, that have `dim` dimensions of `both`.
KvStrides StridesOf(const ProblemSpec& spec, int64_t dim, int64_t both) {
  const int64_t heads = spec.num_kv_heads;
  const int64_t slots = spec.block_size;
  switch (spec.layout) {
    case Layout::kDense:
      return {slots * heads * dim, heads * dim, dim};
    case Layout::kHeadMajor:
      return {slots * heads * dim, dim, slots * dim};
    case Layout::kInterleaved:
      return {slots * heads * both, heads * both, both};
    case Layout::kPaddedRows: {
      const int64_t slot = heads * (dim + 8) + 16;
      return {slots * slot + 24, slot, dim + 8};
    }
    case Layout::kManyLayers:
      return {3 * slots * heads * dim, heads * dim, dim};
  }
  return {};
}

// Queries, keys and values of each sequence, in the order of the batch.
void MakeSequences(Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  for (int seq = 0; seq < static_cast<int>(spec.context_lens.size()); ++seq) {
    const int id = spec.ContentIdOf(seq);
    const int64_t heads =
        int64_t{spec.context_lens[static_cast<std::size_t>(seq)]} *
        spec.num_kv_heads;
    const std::vector<std::byte> query = RandomElements(
        spec, problem.query_dtype(), id, 0,
        int64_t{spec.QLenOf(seq)} * spec.num_q_heads * spec.head_dim);
    problem.query.insert(problem.query.end(), query.begin(), query.end());
    problem.sequences.push_back(
        {RandomElements(spec, spec.dtype, id, 1, heads * spec.head_dim),
         RandomElements(spec, spec.dtype, id, 2, heads * problem.value_dim()),
         {},
         {}});
  }
}

int LongestContext(const ProblemSpec& spec) {
  int longest = 0;
  for (int32_t len : spec.context_lens) longest = std::max(longest, int{len});
  return longest;
}

DecodeShape ShapeOf(const Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  const int value_dim = problem.value_dim();
  const int both = spec.head_dim + value_dim;
  const int longest =
      spec.max_context_len == 0 ? LongestContext(spec) : spec.max_context_len;
  int64_t num_blocks = spec.extra_blocks;
  for (int32_t len : spec.context_lens) {
    num_blocks += CeilDiv(len, spec.block_size);
  }
  const auto rows = [&](int64_t dim) -> RowStrides {
    const int64_t head_stride = dim + spec.row_padding;
    const int64_t token_stride = spec.num_q_heads * head_stride;
    return {spec.q_lens.empty() ? spec.q_len * token_stride : 0, token_stride,
            head_stride};
  };
  return {.num_seqs = static_cast<int>(spec.context_lens.size()),
          .q_len = spec.q_len,
          .has_query_offsets = !spec.q_lens.empty(),
          .has_tree_masks = spec.has_tree_masks,
          .num_q_heads = spec.num_q_heads,
          .num_kv_heads = spec.num_kv_heads,
          .head_dim = spec.head_dim,
          .value_dim = value_dim,
          .block_size = spec.block_size,
          .num_blocks = num_blocks,
          .max_blocks_per_seq = CeilDiv(longest, spec.block_size),
          .max_context_len = longest,
          .query_dtype = problem.query_dtype(),
          .kv_dtype = spec.dtype,
          .key_scale = spec.key_scale,
          .value_scale = spec.value_scale,
          .key_scales = spec.key_scales,
          .value_scales = spec.value_scales,
          .window = spec.window,
          .attention_chunk = spec.attention_chunk,
          .sink_tokens = spec.sink_tokens,
          .soft_cap = spec.soft_cap,
          .has_alibi = spec.has_alibi,
          .has_bias = spec.has_bias,
          .has_sink_logits = spec.has_sink_logits,
          .query = rows(spec.head_dim),
          .key = StridesOf(spec, spec.head_dim, both),
          .value = StridesOf(spec, value_dim, both),
          .output = rows(value_dim)};
}

}  // namespace

Problem MakeProblem(const ProblemSpec& spec) {
  Problem problem;
  problem.spec = spec;
  MakeSequences(problem);
  problem.shape = ShapeOf(problem);
  MakeTokens(problem);
  MakeTable(problem);
  MakeScales(problem);
  MakeModifiers(problem);
  return problem;
}

Problem SoloProblem(const ProblemSpec& spec, int seq) {
  ProblemSpec solo = spec;
  solo.context_lens = {spec.context_lens[static_cast<std::size_t>(seq)]};
  solo.content_ids = {spec.ContentIdOf(seq)};
  if (!spec.q_lens.empty()) solo.q_lens = {spec.QLenOf(seq)};
  if (solo.max_context_len == 0) {
    solo.max_context_len = LongestContext(spec);
  }
  return MakeProblem(solo);
}

}  // namespace paged::testing
