#include "benchmarks/cpu/problem.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "benchmarks/cpu/read_ceiling.h"
#include "kernels/core/hash.h"
#include "paged/internal/lower.h"

namespace paged::benchmarks {

CpuProblem::CpuProblem(const BenchShape& shape, BlockLayout layout,
                       int64_t rotate_bytes)
    : shape_(shape),
      tables_(MakeTables(shape, rotate_bytes)),
      decode_shape_(MakeDecodeShape(shape, tables_)),
      sides_(shape, tables_),
      query_(MakeQueries(shape)) {
  decode_shape_.key = StridesOf(layout, shape_.head_dim);
  decode_shape_.value = StridesOf(layout, shape_.output_dim());
  keys_ = MakePool(kKeySeed, shape_.head_dim, decode_shape_.key);
  values_ = MakePool(kValueSeed, shape_.output_dim(), decode_shape_.value);
  const int64_t rows = shape_.num_query_tokens() * shape_.num_q_heads();
  output_.resize(static_cast<size_t>(rows * shape_.output_dim() *
                                     SizeOf(shape_.query_dtype())));
  lse_.resize(static_cast<size_t>(rows));
}

KvStrides CpuProblem::StridesOf(BlockLayout layout, int dim) const {
  if (layout == BlockLayout::kHeadMajor) {
    return {block_elements(dim), dim, int64_t{shape_.block_size} * dim};
  }
  return {block_elements(dim), int64_t{shape_.num_kv_heads} * dim, dim};
}

DecodeArgs CpuProblem::Args(int set) {
  DecodeArgs args = {.shape = decode_shape_,
                     .query = query_.data(),
                     .key_cache = keys_->data(),
                     .value_cache = values_->data(),
                     .block_tables = tables_.table.entries.data() +
                                     tables_.offset_of(set, shape_),
                     .context_lens = shape_.context_lens.data(),
                     .output = output_.data(),
                     .lse = lse_.data()};
  sides_.Bind(sides_.bytes().data(), args);
  return args;
}

DecodeArgs CpuProblem::ArgsInFp32() {
  query_fp32_.resize(query_.size() /
                     static_cast<size_t>(SizeOf(shape_.query_dtype())));
  for (size_t i = 0; i < query_fp32_.size(); ++i) {
    query_fp32_[i] =
        LoadFloat(shape_.query_dtype(), query_.data(), static_cast<int64_t>(i));
  }
  output_fp32_.assign(lse_.size() * static_cast<size_t>(shape_.output_dim()),
                      std::numeric_limits<float>::quiet_NaN());
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
  const auto read = [&](absl::Span<const std::byte* const> pools, int dim) {
    ReadPieces(threads, pools, {first, count},
               block_elements(dim) * SizeOf(shape_.dtype), fetch_ahead_bytes);
  };
  if (shape_.output_dim() == shape_.head_dim) {
    return read({keys_->data(), values_->data()}, shape_.head_dim);
  }
  read({keys_->data()}, shape_.head_dim);
  read({values_->data()}, shape_.output_dim());
}

void CpuProblem::PoisonOutput() {
  std::fill(output_.begin(), output_.end(), std::byte{0xff});
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

std::unique_ptr<HostMemory> CpuProblem::MakePool(
    uint32_t seed, int dim, const KvStrides& strides) const {
  const int64_t num_blocks = tables_.table.num_blocks;
  const ElementKind kind = internal::KindOf(shape_.dtype);
  const int64_t bytes = BytesOf(kind);
  auto pool = std::make_unique<HostMemory>(
      static_cast<size_t>(num_blocks * block_elements(dim) * bytes),
      Pages::kHuge);
  int64_t i = 0;
  for (int64_t block = 0; block < num_blocks; ++block) {
    for (int slot = 0; slot < shape_.block_size; ++slot) {
      for (int head = 0; head < shape_.num_kv_heads; ++head) {
        std::byte* to = pool->data() + bytes * (block * strides.block_stride +
                                                slot * strides.slot_stride +
                                                head * strides.head_stride);
        for (int d = 0; d < dim; ++d, to += bytes) {
          StoreElement(kind, HashElement(kind, seed, i++), to);
        }
      }
    }
  }
  return pool;
}

}  // namespace paged::benchmarks
