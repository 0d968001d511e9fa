// The vector kernels against the scalar ones, on every instruction set that
// this processor has.
#include "kernels/cpu/simd_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/core/hash.h"
#include "kernels/core/partition.h"

namespace paged {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  int group = 1;
  int key_dim = 64;
  int value_dim = 64;
  int block_size = 16;
  int splits = 1;
};

// What random numbers are multiplied by where they are stored.
template <typename Kv>
constexpr float kCodesPerUnit = 1.0f;
template <>
constexpr float kCodesPerUnit<Int8> = 60.0f;

// Two sequences, three kv heads, blocks in reverse order. Vectors of exactly
// the bytes in use, but for the unwritten slots of last blocks, which are NaN.
template <typename Element, typename Kv = Element>
class Tensors {
 public:
  explicit Tensors(const Case& c) : c_(c) {
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

  Case c_;
  std::vector<int32_t> table_;
  std::vector<Kv> keys_, values_;
  std::vector<Element> query_;
  DecodeParams params_;
};

template <typename Element>
constexpr ElementKind kKindOf = ElementKind::kF32;
template <>
constexpr ElementKind kKindOf<Half> = ElementKind::kF16;
template <>
constexpr ElementKind kKindOf<BFloat16> = ElementKind::kBF16;
template <>
constexpr ElementKind kKindOf<Int8> = ElementKind::kInt8;

// Runs both sets of kernels, and holds the vector ones against the others:
// within `tolerance` of each value, NaN where they have NaN.
template <typename Element, typename Kv>
void ExpectAgree(const Case& c, Tensors<Element, Kv>& tensors, float tolerance,
                 float lse_tolerance = 1e-5f) {
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
    const auto is_near = [](float a, float b, float bound) {
      if (std::isnan(b)) return std::isnan(a);
      return a == b || std::fabs(a - b) <= bound;
    };
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_TRUE(is_near(output[i], expected[i], tolerance))
          << i << ": " << output[i] << " and " << expected[i];
    }
    for (std::size_t i = 0; i < lse.size(); ++i) {
      const float bound =
          lse_tolerance * std::fmax(1.0f, std::fabs(expected_lse[i]));
      ASSERT_TRUE(is_near(lse[i], expected_lse[i], bound))
          << i << ": " << lse[i] << " and " << expected_lse[i];
    }
  }
}

// Slots of unused vectors of a dot product, and what lies behind a row, must
// not count: the heads beside the one that is looked at are NaN.
TEST(SimdDecodeTest, NaNBesideAHeadIsNotRead) {
  for (int group : {1, 2, 3, 4, 7, 8}) {
    for (int dim : {1, 7, 8, 9, 16, 24, 31, 33, 40, 72}) {
      const Case c{.group = group, .key_dim = dim, .value_dim = dim};
      Tensors<BFloat16> tensors(c);
      for (int t = 0; t < 75; ++t) {
        for (int d = 0; d < dim; ++d) {
          tensors.key(t, 0, d) = tensors.value(t, 0, d) =
              FromFloat<BFloat16>(kNaN);
          tensors.key(t, 2, d) = tensors.value(t, 2, d) =
              FromFloat<BFloat16>(kInf);
        }
      }
      ExpectAgree(c, tensors, 0x1p-7f);
    }
  }
}

template <typename Element>
void ExpectAgree(const Case& c, float tolerance) {
  SCOPED_TRACE(::testing::Message()
               << "group " << c.group << ", dims " << c.key_dim << " and "
               << c.value_dim << ", block_size " << c.block_size << ", splits "
               << c.splits);
  Tensors<Element> tensors(c);
  ExpectAgree(c, tensors, tolerance);
}

// Values are below 2: one unit of the storage type, and float's rounding.
void ExpectEveryTypeAgrees(const Case& c) {
  ExpectAgree<float>(c, 4e-6f);
  ExpectAgree<Half>(c, 0x1p-10f);
  ExpectAgree<BFloat16>(c, 0x1p-7f);
}

// Codes up to 120. Dot products of 16-bit integers: 2^-16 of the largest query
// in each element, and of the largest weight in each.
TEST(SimdDecodeTest, CodesAgreeWithTheScalarKernels) {
  for (int group : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
    for (int dim : {1, 7, 8, 15, 16, 24, 31, 33, 64, 80, 128, 600}) {
      const Case c{.group = group,
                   .key_dim = dim,
                   .value_dim = dim,
                   .splits = dim % 3 + 1};
      SCOPED_TRACE(::testing::Message()
                   << "group " << group << ", dim " << dim);
      Tensors<float, Int8> tensors(c);
      ExpectAgree(c, tensors, 0.01f, 1e-4f);
    }
  }
}

// All products of a long row at their largest: their sum has 31 bits.
TEST(SimdDecodeTest, SumsOfLongRowsOfCodesDoNotOverflow) {
  for (int group : {1, 2, 4, 8}) {
    const Case c{.group = group, .key_dim = 700, .value_dim = 8};
    Tensors<float, Int8> tensors(c);
    for (int d = 0; d < 700; ++d) {
      for (int q_head = 0; q_head < group; ++q_head) {
        tensors.query(q_head, d) = 1.0f;
      }
      tensors.key(40, 0, d) = Int8{127};
    }
    SCOPED_TRACE(group);
    ExpectAgree(c, tensors, 0.01f, 1e-4f);
  }
}

// What is small beside others of its row, or nothing at all, stays right.
TEST(SimdDecodeTest, CodesAgreeForQueriesOfAnyMagnitude) {
  const Case c{.group = 6, .key_dim = 40, .value_dim = 40};
  for (float magnitude : {0.0f, 1e-42f, 1e-30f, 1e30f, kInf, kNaN}) {
    Tensors<float, Int8> tensors(c);
    for (int q_head = 6; q_head < 9; ++q_head) {
      for (int d = 0; d < 40; ++d) tensors.query(q_head, d) *= magnitude;
    }
    SCOPED_TRACE(magnitude);
    ExpectAgree(c, tensors, 0.01f, 1e-4f);
  }
}

TEST(SimdDecodeTest, EveryGroupAgreesWithTheScalarKernels) {
  for (int group : {1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 15, 16, 17, 40}) {
    ExpectEveryTypeAgrees({.group = group});
  }
}

TEST(SimdDecodeTest, EveryHeadDimAgreesWithTheScalarKernels) {
  for (int dim : {1, 3, 4, 8, 15, 16, 17, 31, 48, 80, 127, 128, 144, 200}) {
    ExpectEveryTypeAgrees({.group = 3, .key_dim = dim, .value_dim = dim});
    ExpectEveryTypeAgrees({.group = 8, .key_dim = dim, .value_dim = 5});
    ExpectEveryTypeAgrees({.key_dim = 7, .value_dim = dim});
  }
}

TEST(SimdDecodeTest, EveryBlockSizeAgreesWithTheScalarKernels) {
  for (int block_size : {1, 2, 3, 15, 16, 17, 32, 64, 75, 100}) {
    for (int splits : {1, 2, 9}) {
      ExpectEveryTypeAgrees(
          {.group = 4, .block_size = block_size, .splits = splits});
    }
  }
}

// A score of minus infinity has no weight, one of infinity or NaN spoils its
// row; the other kv heads are as they were.
TEST(SimdDecodeTest, AgreesOnWhatIsNotFinite) {
  for (int splits : {1, 3}) {
    for (float poison : {kInf, -kInf, kNaN}) {
      for (int slot : {0, 17, 40, 74}) {
        const Case c{
            .group = 5, .key_dim = 20, .value_dim = 20, .splits = splits};
        Tensors<float> keys(c);
        keys.key(slot, 1, 3) = poison;
        ExpectAgree(c, keys, 4e-6f);
        Tensors<float> values(c);
        values.value(slot, 1, 19) = poison;
        ExpectAgree(c, values, 4e-6f);
      }
    }
  }
}

TEST(SimdDecodeTest, OnlyInfinitelyNegativeScoresGiveZero) {
  for (int splits : {1, 3}) {
    const Case c{.key_dim = 1, .value_dim = 20, .splits = splits};
    Tensors<float> tensors(c);
    tensors.query(1, 0) = 1.0f;
    for (int t = 0; t < 75; ++t) {
      tensors.key(t, 1, 0) = -kInf;
      tensors.value(t, 1, t % 20) = kInf;
    }
    ExpectAgree(c, tensors, 4e-6f);
  }
}

// Scores of 1e30 and of 1e-30 side by side.
TEST(SimdDecodeTest, HugeScoresNeitherOverflowNorVanish) {
  const Case c{.group = 2, .key_dim = 16, .value_dim = 16};
  Tensors<float> tensors(c);
  for (int t = 0; t < 75; ++t) {
    for (int d = 0; d < 16; ++d) {
      tensors.key(t, 0, d) *= 1e30f;
      tensors.key(t, 1, d) *= 1e-30f;
    }
  }
  ExpectAgree(c, tensors, 4e-6f);
}

TEST(HeadsPerProgramTest, ThreadsHaveEnoughToDoAndNoMoreThanThereIs) {
  // Sequences enough: a block of all heads at once.
  EXPECT_EQ(HeadsPerProgram(64, 8, 2), 8);
  EXPECT_EQ(HeadsPerProgram(2, 8, 2), 8);
  // One sequence: the heads are shared out.
  EXPECT_EQ(HeadsPerProgram(1, 8, 2), 4);
  EXPECT_EQ(HeadsPerProgram(1, 8, 8), 1);
  EXPECT_EQ(HeadsPerProgram(1, 1, 8), 1);
  EXPECT_EQ(HeadsPerProgram(0, 8, 4), 8);
  // One thread never needs shares.
  EXPECT_EQ(HeadsPerProgram(3, 8, 1), 8);
  for (int heads : {1, 3, 8, 12}) {
    for (int items : {1, 3, 5, 100}) {
      for (int threads : {1, 2, 3, 16}) {
        const int share = HeadsPerProgram(items, heads, threads);
        EXPECT_GE(share, 1);
        EXPECT_LE(share, heads);
      }
    }
  }
}

}  // namespace
}  // namespace paged
