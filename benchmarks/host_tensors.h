// What the tensors of a shape hold: every element a function of its indices, so
// that the sample oracle computes it again without knowing where it lies.
#ifndef PAGED_BENCHMARKS_HOST_TENSORS_H_
#define PAGED_BENCHMARKS_HOST_TENSORS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/shapes.h"
#include "kernels/core/dtype.h"
#include "paged/args.h"

namespace paged::benchmarks {

// Element i of the key pool and the value pool, all dense, is HashUniform(seed,
// i), rounded where they are of bf16, and HashElement(seed, i) in pools of
// bytes.
inline constexpr uint32_t kQuerySeed = 1;
inline constexpr uint32_t kKeySeed = 2;
inline constexpr uint32_t kValueSeed = 3;

// Element i of the queries, rounded where they are of bf16; in fp32 it has
// digits that 16 bits have not.
float QueryAt(DType dtype, int64_t i);

float SlopeOf(int q_head);
// Large enough to be seen beside thousands of tokens.
float SinkOf(int q_head);
float BiasOf(int seq, int position);
// A query token and those above it in a tree, where each has two below it, or
// three in every second sequence.
uint32_t TreeMaskOf(int seq, int q_token);
// Of the keys or the values, by the seed of either; i counts the scales of
// their tensor.
float ScaleOf(uint32_t seed, int64_t i);

// Writes x as an element of `kind`, int8 as codes of kInt8Scale.
void StoreElement(ElementKind kind, float x, std::byte* to);

// All queries, dense.
std::vector<std::byte> MakeQueries(const BenchShape& shape);

// What a shape has beside queries, keys and values, in one piece of memory that
// can be copied to a device.
class SideTensors {
 public:
  SideTensors(const BenchShape& shape, const BenchTables& tables);

  absl::Span<const std::byte> bytes() const { return bytes_; }
  // Points the arguments at the tensors of a copy of bytes(), aligned to 16.
  void Bind(const void* copy, DecodeArgs& args) const;

 private:
  // Where a tensor begins; none has no value.
  using Offset = std::optional<std::size_t>;
  template <typename T>
  Offset Add(const std::vector<T>& tensor);
  Offset AddByHead(const BenchShape& shape, float (*value)(int q_head));
  Offset AddScales(const BenchShape& shape, const BenchTables& tables,
                   uint32_t seed);

  std::vector<std::byte> bytes_;
  Offset query_offsets_, tree_masks_, key_scales_, value_scales_;
  Offset slopes_, bias_, sink_logits_;
};

}  // namespace paged::benchmarks

#endif  // PAGED_BENCHMARKS_HOST_TENSORS_H_
