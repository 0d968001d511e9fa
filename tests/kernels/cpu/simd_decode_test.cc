// The vector kernels against the scalar ones, on every instruction set that
// this processor has.
#include "kernels/cpu/simd_decode.h"

#include <gtest/gtest.h>

#include "tests/kernels/cpu/simd_agreement.h"

namespace paged::testing {
namespace {

// Slots of unused vectors of a dot product, and what lies behind a row, must
// not count: the heads beside the one that is looked at are NaN.
TEST(SimdDecodeTest, NaNBesideAHeadIsNotRead) {
  for (int group : {1, 2, 3, 4, 7, 8}) {
    for (int dim : {1, 7, 8, 9, 16, 24, 31, 33, 40, 72}) {
      const SimdCase c{.group = group, .key_dim = dim, .value_dim = dim};
      SimdTensors<BFloat16> tensors(c);
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
void ExpectTypeAgrees(const SimdCase& c, float tolerance) {
  SCOPED_TRACE(::testing::Message()
               << "group " << c.group << ", dims " << c.key_dim << " and "
               << c.value_dim << ", block_size " << c.block_size << ", splits "
               << c.splits);
  SimdTensors<Element> tensors(c);
  ExpectAgree(c, tensors, tolerance);
}

// Values are below 2: one unit of the storage type, and float's rounding.
void ExpectEveryTypeAgrees(const SimdCase& c) {
  ExpectTypeAgrees<float>(c, 4e-6f);
  ExpectTypeAgrees<Half>(c, 0x1p-10f);
  ExpectTypeAgrees<BFloat16>(c, 0x1p-7f);
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
        const SimdCase c{
            .group = 5, .key_dim = 20, .value_dim = 20, .splits = splits};
        SimdTensors<float> keys(c);
        keys.key(slot, 1, 3) = poison;
        ExpectAgree(c, keys, 4e-6f);
        SimdTensors<float> values(c);
        values.value(slot, 1, 19) = poison;
        ExpectAgree(c, values, 4e-6f);
      }
    }
  }
}

TEST(SimdDecodeTest, OnlyInfinitelyNegativeScoresGiveZero) {
  for (int splits : {1, 3}) {
    const SimdCase c{.key_dim = 1, .value_dim = 20, .splits = splits};
    SimdTensors<float> tensors(c);
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
  const SimdCase c{.group = 2, .key_dim = 16, .value_dim = 16};
  SimdTensors<float> tensors(c);
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
}  // namespace paged::testing
