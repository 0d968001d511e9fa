#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/element.h"
#include "tests/support/problem.h"

namespace paged::testing {
namespace {

// The keys, or the values.
struct Side {
  KvStrides strides;
  int dim;
  bool are_keys;
};

Side KeysOf(const Problem& problem) {
  return {problem.shape.key, problem.spec.head_dim, true};
}
Side ValuesOf(const Problem& problem) {
  return {problem.shape.value, problem.value_dim(), false};
}

// Elements that the strides span.
int64_t SpanOf(const Problem& problem, const Side& side) {
  const ProblemSpec& spec = problem.spec;
  return (problem.shape.num_blocks - 1) * side.strides.block_stride +
         (spec.block_size - 1) * side.strides.slot_stride +
         (spec.num_kv_heads - 1) * side.strides.head_stride + side.dim;
}

int64_t OffsetOf(const Side& side, int64_t block, int64_t slot, int64_t head) {
  return block * side.strides.block_stride + slot * side.strides.slot_stride +
         head * side.strides.head_stride;
}

// Every element that any block has.
void PoisonPool(const Problem& problem, const Side& side, std::byte* pool,
                uint32_t seed) {
  const ProblemSpec& spec = problem.spec;
  const int64_t bytes = SizeOf(spec.dtype);
  const std::vector<std::byte> row =
      PoisonElements(spec.dtype, spec.poison, side.dim, seed);
  for (int64_t block = 0; block < problem.shape.num_blocks; ++block) {
    for (int slot = 0; slot < spec.block_size; ++slot) {
      for (int head = 0; head < spec.num_kv_heads; ++head) {
        const int64_t to = OffsetOf(side, block, slot, head);
        std::memcpy(pool + to * bytes, row.data(), row.size());
      }
    }
  }
}

// The live tokens of every sequence.
void WritePool(const Problem& problem, const Side& side, std::byte* pool) {
  const ProblemSpec& spec = problem.spec;
  const int64_t bytes = SizeOf(spec.dtype);
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const SequenceContent& content =
        problem.sequences[static_cast<std::size_t>(seq)];
    const int64_t first_entry = int64_t{seq} * problem.shape.max_blocks_per_seq;
    for (int position = 0; position < problem.context_len(seq); ++position) {
      if (!problem.IsLive(seq, position)) continue;
      const int64_t block = problem.block_tables[static_cast<std::size_t>(
          first_entry + position / spec.block_size)];
      for (int head = 0; head < spec.num_kv_heads; ++head) {
        const int64_t to =
            OffsetOf(side, block, position % spec.block_size, head);
        const std::byte* from =
            side.are_keys ? content.keys.data() +
                                problem.KeyIndex(position, head, 0) * bytes
                          : content.values.data() +
                                problem.ValueIndex(position, head, 0) * bytes;
        std::memcpy(pool + to * bytes, from,
                    static_cast<std::size_t>(side.dim * bytes));
      }
    }
  }
}

}  // namespace

std::vector<std::byte> PoisonElements(DType dtype, Poison poison, int64_t count,
                                      uint32_t seed) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<std::byte> elements(
      static_cast<std::size_t>(count * SizeOf(dtype)),
      poison == Poison::kBytesFF   ? std::byte{0xff}
      : poison == Poison::kBytes7F ? std::byte{0x7f}
                                   : std::byte{0});
  std::mt19937 random(seed);
  if (poison == Poison::kWords) {
    for (std::byte& b : elements) b = static_cast<std::byte>(random() >> 24);
  }
  if (poison == Poison::kBytesFF || poison == Poison::kBytes7F ||
      poison == Poison::kZero || poison == Poison::kWords) {
    return elements;
  }
  for (int64_t i = 0; i < count; ++i) {
    double value = 0.0;
    if (poison == Poison::kNaN) value = std::nan("");
    if (poison == Poison::kInf) value = kInfinity;
    if (poison == Poison::kMinusInf) value = -kInfinity;
    if (poison == Poison::kRandom)
      value = static_cast<double>(random()) * 0x1p-22 - 512.0;
    WriteElement(dtype, elements.data(), i, value);
  }
  return elements;
}

PoolImage MakePoolImage(const Problem& problem) {
  const ProblemSpec& spec = problem.spec;
  const bool is_interleaved = spec.layout == Layout::kInterleaved;
  PoolImage image;
  if (is_interleaved) image.value_offset = spec.head_dim;
  if (spec.layout == Layout::kManyLayers) {
    image.key_offset = problem.shape.key.block_stride / 3;
    image.value_offset = problem.shape.value.block_stride / 3;
  }
  if (problem.shape.num_blocks == 0) return image;

  const Side key_side = KeysOf(problem);
  const Side value_side = ValuesOf(problem);
  const int64_t key_end = image.key_offset + SpanOf(problem, key_side);
  const int64_t value_end = image.value_offset + SpanOf(problem, value_side);
  // Gaps between rows are poison as well, unless one of the two is clean.
  const Poison gaps =
      spec.poison_target == PoisonTarget::kBoth ? spec.poison : Poison::kZero;
  image.keys = PoisonElements(
      spec.dtype, gaps, is_interleaved ? std::max(key_end, value_end) : key_end,
      spec.seed);
  if (!is_interleaved) {
    image.values = PoisonElements(spec.dtype, gaps, value_end, spec.seed);
  }

  const int64_t bytes = SizeOf(spec.dtype);
  std::byte* keys = image.keys.data() + image.key_offset * bytes;
  std::byte* values =
      (is_interleaved ? image.keys.data() : image.values.data()) +
      image.value_offset * bytes;
  if (spec.poison_target != PoisonTarget::kValues) {
    PoisonPool(problem, key_side, keys, spec.seed + 1);
  }
  if (spec.poison_target != PoisonTarget::kKeys) {
    PoisonPool(problem, value_side, values, spec.seed + 2);
  }
  WritePool(problem, key_side, keys);
  WritePool(problem, value_side, values);
  return image;
}

}  // namespace paged::testing
