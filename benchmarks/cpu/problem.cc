#include "benchmarks/cpu/problem.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "benchmarks/cpu/read_ceiling.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {
namespace {

// Element `index` of a pool of `kind`, at `to`. Codes of int8 are of values
// over kInt8Scale.
void StoreElement(ElementKind kind, uint32_t seed, int64_t index,
                  std::byte* to) {
  WithElement(kind, [&]<typename Element>(Element) {
    float x = HashElement(kind, seed, index);
    if (kind == ElementKind::kInt8) x /= kInt8Scale;
    const Element element = FromFloat<Element>(x);
    std::memcpy(to, &element, sizeof(element));
  });
}

}  // namespace

CpuProblem::CpuProblem(const BenchShape& shape, BlockLayout layout,
                       int64_t rotate_bytes)
    : shape_(shape),
      tables_(MakeTables(shape, rotate_bytes)),
      decode_shape_(MakeDecodeShape(shape, tables_)) {
  const int64_t dim = shape_.head_dim;
  if (layout == BlockLayout::kHeadMajor) {
    decode_shape_.key = {block_elements(), dim, shape_.block_size * dim};
  } else {
    decode_shape_.key = {block_elements(), shape_.num_kv_heads * dim, dim};
  }
  decode_shape_.value = decode_shape_.key;
  keys_ = MakePool(kKeySeed);
  values_ = MakePool(kValueSeed);
  const int64_t rows = int64_t{shape_.num_seqs()} * shape_.num_q_heads();
  const ElementKind query = internal::KindOf(shape_.query_dtype());
  query_.resize(static_cast<size_t>(rows * dim));
  for (int64_t i = 0; i < rows * dim; ++i) {
    StoreElement(query, kQuerySeed, i,
                 reinterpret_cast<std::byte*>(&query_[static_cast<size_t>(i)]));
  }
  output_.resize(query_.size());
  lse_.resize(static_cast<size_t>(rows));
}

DecodeArgs CpuProblem::Args(int set) {
  return {.shape = decode_shape_,
          .query = query_.data(),
          .key_cache = keys_->data(),
          .value_cache = values_->data(),
          .block_tables =
              tables_.table.entries.data() + tables_.offset_of(set, shape_),
          .context_lens = shape_.context_lens.data(),
          .output = output_.data(),
          .lse = lse_.data()};
}

DecodeArgs CpuProblem::ArgsInFp32() {
  query_fp32_.resize(query_.size());
  for (size_t i = 0; i < query_fp32_.size(); ++i) {
    query_fp32_[i] =
        LoadFloat(shape_.query_dtype(), query_.data(), static_cast<int64_t>(i));
  }
  output_fp32_.assign(query_.size(), std::numeric_limits<float>::quiet_NaN());
  DecodeArgs args = Args(0);
  args.shape.query_dtype = DType::kF32;
  args.query = query_fp32_.data();
  args.output = output_fp32_.data();
  return args;
}

void CpuProblem::Read(ThreadPool& threads, int set,
                      int64_t fetch_ahead_bytes) const {
  const auto first =
      tables_.table.entries.data() + tables_.offset_of(set, shape_);
  const auto count = static_cast<size_t>(shape_.num_seqs()) *
                     static_cast<size_t>(tables_.table.max_blocks_per_seq);
  ReadPieces(threads, {keys_->data(), values_->data()}, {first, count},
             block_elements() * SizeOf(shape_.dtype), fetch_ahead_bytes);
}

void CpuProblem::PoisonOutput() {
  std::fill(output_.begin(), output_.end(), uint16_t{0xffff});
  std::fill(lse_.begin(), lse_.end(), std::numeric_limits<float>::quiet_NaN());
}

double CpuProblem::LargestErrorOfSet0() {
  return LargestError(Samples(), shape_, output_.data(), lse_.data());
}

double CpuProblem::RelativeErrorOfSet0() {
  return LargestRelativeError(Samples(), shape_.query_dtype(), output_.data());
}

double CpuProblem::RelativeErrorInFp32() {
  return LargestRelativeError(Samples(), DType::kF32, output_fp32_.data());
}

const std::vector<SampleRow>& CpuProblem::Samples() {
  if (samples_.empty()) samples_ = ComputeSamples(shape_, tables_);
  return samples_;
}

std::unique_ptr<HostMemory> CpuProblem::MakePool(uint32_t seed) const {
  const int64_t num_blocks = tables_.table.num_blocks;
  const ElementKind kind = internal::KindOf(shape_.dtype);
  const int64_t bytes = BytesOf(kind);
  auto pool = std::make_unique<HostMemory>(
      static_cast<size_t>(num_blocks * block_elements() * bytes), Pages::kHuge);
  int64_t i = 0;
  for (int64_t block = 0; block < num_blocks; ++block) {
    for (int slot = 0; slot < shape_.block_size; ++slot) {
      for (int head = 0; head < shape_.num_kv_heads; ++head) {
        std::byte* to =
            pool->data() + bytes * (block * decode_shape_.key.block_stride +
                                    slot * decode_shape_.key.slot_stride +
                                    head * decode_shape_.key.head_stride);
        for (int d = 0; d < shape_.head_dim; ++d, to += bytes) {
          StoreElement(kind, seed, i++, to);
        }
      }
    }
  }
  return pool;
}

}  // namespace paged::benchmarks
