// The vector kernels against the scalar ones, over tensors in which all else is
// NaN.
#ifndef PAGED_TESTS_KERNELS_CPU_SIMD_AGREEMENT_H_
#define PAGED_TESTS_KERNELS_CPU_SIMD_AGREEMENT_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/core/hash.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/simd_decode.h"

namespace paged::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct SimdCase {
  int group = 1;
  int key_dim = 64;
  int value_dim = 64;
  int block_size = 16;
  int splits = 1;
};

// What random numbers are multiplied by where they are stored.
template <typename Kv>
inline constexpr float kCodesPerUnit = 1.0f;
template <>
inline constexpr float kCodesPerUnit<Int8> = 60.0f;

// Two sequences, three kv heads, blocks in reverse order. Vectors of exactly
// the bytes in use, but for the unwritten slots of last blocks, which are NaN.
template <typename Element, typename Kv = Element>
class SimdTensors {
 public:
  explicit SimdTensors(const SimdCase& c) : c_(c) {
    const int max_blocks = (kMaxLen + c.block_size - 1) / c.block_size;
    const int num_blocks = 2 * max_blocks;
    for (int i = 0; i < num_blocks; ++i) table_.push_back(num_blocks - 1 - i);
    keys_ = MakePool(num_blocks, c.key_dim, 1);
    values_ = MakePool(num_blocks, c.value_dim, 2);
    const int q_heads = kNumKvHeads * c.group;
    for (int i = 0; i < 2 * q_heads * c.key_dim; ++i) {
      query_.push_back(FromFloat<Element>(HashUniform(3, i)));
    }
    params_.query = Rows(query_.data(), c.key_dim);
    params_.key = Pool(keys_, c.key_dim);
    params_.value = Pool(values_, c.value_dim);
    params_.block_tables = table_.data();
    params_.block_table_stride = max_blocks;
    params_.context_lens = kLens;
    params_.num_seqs = 2;
    params_.num_kv_heads = kNumKvHeads;
    params_.group = c.group;
    params_.key_dim = c.key_dim;
    params_.value_dim = c.value_dim;
    params_.block_size = c.block_size;
    params_.max_context_len = kMaxLen;
    params_.num_row_tiles = (c.group - 1) / kMmaRows + 1;
    params_.num_splits = c.splits;
    params_.scale_log2 =
        1.5f / std::sqrt(static_cast<float>(c.key_dim)) / kCodesPerUnit<Kv>;
    params_.rows_per_item = (c.group - 1) / params_.num_row_tiles + 1;
  }

  // `run(params)` fills `output` and `lse`.
  template <typename Run>
  void Fill(const Run& run, std::vector<float>& output,
            std::vector<float>& lse) {
    const auto rows = static_cast<std::size_t>(2 * kNumKvHeads * c_.group);
    std::vector<Element> stored(rows * static_cast<std::size_t>(c_.value_dim));
    const std::size_t partials = rows * static_cast<std::size_t>(c_.splits * 2);
    std::vector<SoftmaxState> states(partials, {kNaN, kNaN});
    std::vector<float> values(partials * static_cast<std::size_t>(c_.value_dim),
                              kNaN);
    lse.assign(rows, kNaN);
    params_.output = Rows(stored.data(), c_.value_dim);
    params_.lse = lse.data();
    params_.partials = {states.data(), values.data()};
    run(params_);
    output.clear();
    for (Element element : stored) output.push_back(ToFloat(element));
  }

  Kv& key(int slot_in_seq, int kv_head, int d) {
    return keys_[Offset(slot_in_seq, kv_head, c_.key_dim) +
                 static_cast<std::size_t>(d)];
  }
  Kv& value(int slot_in_seq, int kv_head, int d) {
    return values_[Offset(slot_in_seq, kv_head, c_.value_dim) +
                   static_cast<std::size_t>(d)];
  }

  Element& query(int q_head, int d) {
    return query_[static_cast<std::size_t>(q_head * c_.key_dim + d)];
  }

 private:
  static constexpr int kNumKvHeads = 3;
  static constexpr int kMaxLen = 75;
  static constexpr int32_t kLens[2] = {75, 18};

  RowView Rows(Element* data, int dim) const {
    const int64_t heads = int64_t{kNumKvHeads} * c_.group;
    return {data, heads * dim, heads * dim, dim};
  }
  KvView Pool(const std::vector<Kv>& pool, int dim) const {
    const int64_t slot = int64_t{kNumKvHeads} * dim;
    return {pool.data(), c_.block_size * slot, slot, dim};
  }
  // Of sequence 0.
  std::size_t Offset(int slot_in_seq, int kv_head, int dim) const {
    const int64_t slot =
        int64_t{table_[static_cast<std::size_t>(slot_in_seq / c_.block_size)]} *
            c_.block_size +
        slot_in_seq % c_.block_size;
    return static_cast<std::size_t>((slot * kNumKvHeads + kv_head) * dim);
  }
  std::vector<Kv> MakePool(int num_blocks, int dim, uint32_t seed) const {
    std::vector<Kv> pool(
        static_cast<std::size_t>(num_blocks * c_.block_size * kNumKvHeads) *
            static_cast<std::size_t>(dim),
        FromFloat<Kv>(kNaN));
    const int max_blocks = num_blocks / 2;
    const int64_t slot_size = int64_t{kNumKvHeads} * dim;
    for (int seq = 0; seq < 2; ++seq) {
      for (int t = 0; t < kLens[seq]; ++t) {
        const int64_t block = table_[static_cast<std::size_t>(
            seq * max_blocks + t / c_.block_size)];
        const int64_t first =
            (block * c_.block_size + t % c_.block_size) * slot_size;
        for (int64_t i = first; i < first + slot_size; ++i) {
          pool[static_cast<std::size_t>(i)] =
              FromFloat<Kv>(kCodesPerUnit<Kv> * HashUniform(seed, i));
        }
      }
    }
    return pool;
  }

  SimdCase c_;
  std::vector<int32_t> table_;
  std::vector<Kv> keys_, values_;
  std::vector<Element> query_;
  DecodeParams params_;
};

template <typename Element>
inline constexpr ElementKind kKindOf = ElementKind::kF32;
template <>
inline constexpr ElementKind kKindOf<Half> = ElementKind::kF16;
template <>
inline constexpr ElementKind kKindOf<BFloat16> = ElementKind::kBF16;
template <>
inline constexpr ElementKind kKindOf<Int8> = ElementKind::kInt8;

// NaN is near NaN alone.
inline bool IsNear(float a, float b, float bound) {
  if (std::isnan(b)) return std::isnan(a);
  return a == b || std::fabs(a - b) <= bound;
}

// Runs both sets of kernels, and holds the vector ones against the others:
// within `tolerance` of each value, NaN where they have NaN.
template <typename Element, typename Kv>
void ExpectAgree(const SimdCase& c, SimdTensors<Element, Kv>& tensors,
                 float tolerance, float lse_tolerance = 1e-5f) {
  const DecodeElements elements{kKindOf<Element>, kKindOf<Kv>};
  ThreadPool pool(2);
  std::vector<float> expected, expected_lse, output, lse;
  tensors.Fill(
      [&](const DecodeParams& p) {
        if (c.splits == 1) return RunV1(elements, p, pool);
        RunSplitK(elements, p, pool);
        RunReduceSplits(elements, p, pool);
      },
      expected, expected_lse);
  for (const SimdKernels& kernels : AllSimdKernels()) {
    SCOPED_TRACE(kernels.target);
    tensors.Fill(
        [&](const DecodeParams& p) {
          if (c.splits == 1) return RunSimdV1(kernels, elements, p, pool);
          RunSimdSplitK(kernels, elements, p, pool);
          RunSimdReduceSplits(kernels, elements, p, pool);
        },
        output, lse);
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_TRUE(IsNear(output[i], expected[i], tolerance))
          << i << ": " << output[i] << " and " << expected[i];
    }
    for (std::size_t i = 0; i < lse.size(); ++i) {
      const float bound =
          lse_tolerance * std::fmax(1.0f, std::fabs(expected_lse[i]));
      ASSERT_TRUE(IsNear(lse[i], expected_lse[i], bound))
          << i << ": " << lse[i] << " and " << expected_lse[i];
    }
  }
}

}  // namespace paged::testing

#endif  // PAGED_TESTS_KERNELS_CPU_SIMD_AGREEMENT_H_
