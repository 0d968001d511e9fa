#include "benchmarks/cpu/problem.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "benchmarks/cpu/read_ceiling.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"

namespace paged::benchmarks {
namespace {

uint16_t Element(DType dtype, uint32_t seed, int64_t index) {
  const float x = HashUniform(seed, index);
  return dtype == DType::kF16 ? FromFloat<Half>(x).bits
                              : FromFloat<BFloat16>(x).bits;
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
  for (int64_t i = 0; i < rows * dim; ++i) {
    query_.push_back(Element(shape_.dtype, kQuerySeed, i));
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

void CpuProblem::Read(ThreadPool& threads, int set,
                      int64_t fetch_ahead_bytes) const {
  const auto first =
      tables_.table.entries.data() + tables_.offset_of(set, shape_);
  const auto count = static_cast<size_t>(shape_.num_seqs()) *
                     static_cast<size_t>(tables_.table.max_blocks_per_seq);
  ReadPieces(threads, {keys_->data(), values_->data()}, {first, count},
             block_elements() * 2, fetch_ahead_bytes);
}

void CpuProblem::PoisonOutput() {
  std::fill(output_.begin(), output_.end(), uint16_t{0xffff});
  std::fill(lse_.begin(), lse_.end(), std::numeric_limits<float>::quiet_NaN());
}

double CpuProblem::LargestErrorOfSet0() {
  if (samples_.empty()) samples_ = ComputeSamples(shape_, tables_);
  return LargestError(samples_, shape_, output_.data(), lse_.data());
}

std::unique_ptr<HostMemory> CpuProblem::MakePool(uint32_t seed) const {
  const int64_t num_blocks = tables_.table.num_blocks;
  auto pool = std::make_unique<HostMemory>(
      static_cast<size_t>(num_blocks * block_elements()) * 2, Pages::kHuge);
  auto* elements = reinterpret_cast<uint16_t*>(pool->data());
  int64_t i = 0;
  for (int64_t block = 0; block < num_blocks; ++block) {
    for (int slot = 0; slot < shape_.block_size; ++slot) {
      for (int head = 0; head < shape_.num_kv_heads; ++head) {
        uint16_t* to = elements + block * decode_shape_.key.block_stride +
                       slot * decode_shape_.key.slot_stride +
                       head * decode_shape_.key.head_stride;
        for (int d = 0; d < shape_.head_dim; ++d) {
          to[d] = Element(shape_.dtype, seed, i++);
        }
      }
    }
  }
  return pool;
}

}  // namespace paged::benchmarks
