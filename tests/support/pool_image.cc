#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/element.h"
#include "tests/support/problem.h"

namespace paged::testing {
namespace {

// Elements from `offset` that the strides span.
int64_t SpanOf(const ProblemSpec& spec, const KvStrides& strides,
               int64_t num_blocks) {
  return (num_blocks - 1) * strides.block_stride +
         (spec.block_size - 1) * strides.slot_stride +
         (spec.num_kv_heads - 1) * strides.head_stride + spec.head_dim;
}

// Every element of the keys, or of the values, that any block has.
void PoisonPool(const Problem& problem, std::byte* pool, uint32_t seed) {
  const ProblemSpec& spec = problem.spec;
  const KvStrides& strides = problem.shape.key;
  const int64_t bytes = SizeOf(spec.dtype);
  const std::vector<std::byte> row =
      PoisonElements(spec.dtype, spec.poison, spec.head_dim, seed);
  for (int64_t block = 0; block < problem.shape.num_blocks; ++block) {
    for (int slot = 0; slot < spec.block_size; ++slot) {
      for (int head = 0; head < spec.num_kv_heads; ++head) {
        const int64_t to = block * strides.block_stride +
                           slot * strides.slot_stride +
                           head * strides.head_stride;
        std::memcpy(pool + to * bytes, row.data(), row.size());
      }
    }
  }
}

// The live tokens of every sequence.
void WritePool(const Problem& problem, bool are_keys, std::byte* pool) {
  const ProblemSpec& spec = problem.spec;
  const KvStrides& strides = problem.shape.key;
  const int64_t bytes = SizeOf(spec.dtype);
  for (int seq = 0; seq < problem.num_seqs(); ++seq) {
    const SequenceContent& content =
        problem.sequences[static_cast<std::size_t>(seq)];
    const std::byte* from =
        are_keys ? content.keys.data() : content.values.data();
    const int64_t first_entry = int64_t{seq} * problem.shape.max_blocks_per_seq;
    for (int position = 0; position < problem.context_len(seq); ++position) {
      const int64_t block = problem.block_tables[static_cast<std::size_t>(
          first_entry + position / spec.block_size)];
      for (int head = 0; head < spec.num_kv_heads; ++head) {
        const int64_t to = block * strides.block_stride +
                           position % spec.block_size * strides.slot_stride +
                           head * strides.head_stride;
        std::memcpy(pool + to * bytes,
                    from + problem.ContentIndex(position, head, 0) * bytes,
                    static_cast<std::size_t>(spec.head_dim * bytes));
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
    image.value_offset = image.key_offset;
  }
  if (problem.shape.num_blocks == 0) return image;

  const int64_t span =
      SpanOf(spec, problem.shape.key, problem.shape.num_blocks);
  const int64_t num_elements = image.value_offset + span;
  // Gaps between rows are poison as well, unless one of the two is clean.
  const Poison gaps =
      spec.poison_target == PoisonTarget::kBoth ? spec.poison : Poison::kZero;
  image.keys = PoisonElements(spec.dtype, gaps, num_elements, spec.seed);
  if (!is_interleaved) image.values = image.keys;

  const int64_t bytes = SizeOf(spec.dtype);
  std::byte* keys = image.keys.data() + image.key_offset * bytes;
  std::byte* values =
      (is_interleaved ? image.keys.data() : image.values.data()) +
      image.value_offset * bytes;
  if (spec.poison_target != PoisonTarget::kValues) {
    PoisonPool(problem, keys, spec.seed + 1);
  }
  if (spec.poison_target != PoisonTarget::kKeys) {
    PoisonPool(problem, values, spec.seed + 2);
  }
  WritePool(problem, true, keys);
  WritePool(problem, false, values);
  return image;
}

}  // namespace paged::testing
