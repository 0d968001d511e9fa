// Conversions and powers of the vector kernels, on every instruction set that
// this processor has.
#include "kernels/cpu/simd_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/core/dtype.h"

namespace paged {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Runs a test body once per instruction set.
class SimdKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (AllSimdKernels().empty()) GTEST_SKIP() << "no vector kernels here";
  }
};

float Exp2Of(const SimdKernels& kernels, float x) {
  float y = kNaN;
  kernels.f32->exp2(&x, 1, &y);
  return y;
}

TEST_F(SimdKernelsTest, TheBestSetIsTheFirst) {
  EXPECT_STREQ(FindSimdKernels()->target, AllSimdKernels().front().target);
}

// Dot products of bf16 would round other queries.
TEST_F(SimdKernelsTest, DotProductsServeWhatTheyAreExactFor) {
  const SimdKernels* floats = FindSimdKernels(DotProducts::kNever);
  EXPECT_EQ(floats->bf16_dot, nullptr);
  EXPECT_EQ(floats->int8_dot, nullptr);
  EXPECT_EQ(&floats->attending(ElementKind::kBF16, ElementKind::kBF16),
            floats->bf16);
  const SimdKernels* best = FindSimdKernels();
  if (best->bf16_dot == nullptr) GTEST_SKIP() << "no dot products here";
  EXPECT_STRNE(best->target, floats->target);
  EXPECT_EQ(&best->attending(ElementKind::kBF16, ElementKind::kBF16),
            best->bf16_dot);
  for (ElementKind query : {ElementKind::kF16, ElementKind::kF32}) {
    EXPECT_EQ(&best->attending(query, ElementKind::kBF16), floats->bf16);
  }
  EXPECT_EQ(&best->attending(ElementKind::kBF16, ElementKind::kF16),
            floats->f16);
  EXPECT_EQ(&best->attending(ElementKind::kF32, ElementKind::kInt8),
            best->int8_dot);
  EXPECT_EQ(&floats->attending(ElementKind::kF32, ElementKind::kInt8),
            floats->int8);
}

TEST_F(SimdKernelsTest, PowersAreWithinTwoUlp) {
  constexpr int kCount = 1 << 20;
  std::vector<float> x(kCount), y(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[static_cast<std::size_t>(i)] =
        -125.0f * static_cast<float>(i) / (kCount - 1);
  }
  for (const SimdKernels& kernels : AllSimdKernels()) {
    SCOPED_TRACE(kernels.target);
    kernels.f32->exp2(x.data(), kCount, y.data());
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp2(double{x[i]});
      worst = std::fmax(worst, std::fabs(y[i] - exact) / exact);
    }
    EXPECT_LE(worst, 0x1p-22);
    // Of what a maximum is made: sums of at least 1 never vanish.
    EXPECT_EQ(Exp2Of(kernels, 0.0f), 1.0f);
  }
}

TEST_F(SimdKernelsTest, PowersOfWhatIsNotFinite) {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    SCOPED_TRACE(kernels.target);
    EXPECT_EQ(Exp2Of(kernels, -kInf), 0.0f);
    EXPECT_EQ(Exp2Of(kernels, -126.0f), 0.0f);
    EXPECT_EQ(Exp2Of(kernels, -3e38f), 0.0f);
    EXPECT_TRUE(std::isnan(Exp2Of(kernels, kNaN)));
    EXPECT_TRUE(std::isnan(Exp2Of(kernels, -kNaN)));
  }
}

template <typename Element>
void ExpectEveryPatternLoads(const SimdElementKernels& kernels) {
  std::vector<Element> from(sizeof(Element) == 1 ? 0x100 : 0x10000);
  for (uint32_t i = 0; i < from.size(); ++i) {
    std::memcpy(&from[i], &i, sizeof(Element));
  }
  std::vector<float> to(from.size());
  kernels.load_row(from.data(), static_cast<int>(from.size()), to.data());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float exact = ToFloat(from[i]);
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(to[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(to[i]), std::bit_cast<uint32_t>(exact))
          << i;
    }
  }
}

TEST_F(SimdKernelsTest, EveryPatternLoadsExactly) {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    SCOPED_TRACE(kernels.target);
    ExpectEveryPatternLoads<Half>(*kernels.f16);
    ExpectEveryPatternLoads<BFloat16>(*kernels.bf16);
    ExpectEveryPatternLoads<Fp8E4M3>(*kernels.e4m3);
    ExpectEveryPatternLoads<Fp8E5M2>(*kernels.e5m2);
    ExpectEveryPatternLoads<Int8>(*kernels.int8);
  }
}

// Floats around every rounding boundary of 16-bit types: all upper halves, with
// lower halves at and beside the ties.
template <typename Element>
void ExpectRoundsAsTheSpecification(const SimdElementKernels& kernels) {
  std::vector<float> from;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (uint32_t lower : {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u,
                           0x8001u, 0xffffu}) {
      from.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  std::vector<Element> to(from.size());
  kernels.store_row(from.data(), 1.0f, 1.0f, static_cast<int>(from.size()),
                    to.data());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Element exact = FromFloat<Element>(from[i]);
    if (std::isnan(from[i])) {
      ASSERT_TRUE(std::isnan(ToFloat(to[i]))) << i;
    } else {
      ASSERT_EQ(to[i].bits, exact.bits) << from[i];
    }
  }
}

TEST_F(SimdKernelsTest, StoresRoundToNearestEven) {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    SCOPED_TRACE(kernels.target);
    ExpectRoundsAsTheSpecification<Half>(*kernels.f16);
    ExpectRoundsAsTheSpecification<BFloat16>(*kernels.bf16);
  }
}

TEST_F(SimdKernelsTest, RowsOfAnyLengthTouchNothingBehindThem) {
  for (const SimdKernels& kernels : AllSimdKernels()) {
    SCOPED_TRACE(kernels.target);
    for (int dim = 1; dim <= 40; ++dim) {
      const auto n = static_cast<std::size_t>(dim);
      std::vector<BFloat16> row(n, FromFloat<BFloat16>(3.0f));
      std::vector<float> loaded(n + 1, -1.0f);
      kernels.bf16->load_row(row.data(), dim, loaded.data());
      EXPECT_EQ(loaded[n - 1], 3.0f);
      EXPECT_EQ(loaded[n], -1.0f);
      std::vector<Half> stored(n + 1, Half{0x1234});
      kernels.f16->store_row(loaded.data(), 0.5f, 3.0f, dim, stored.data());
      EXPECT_EQ(ToFloat(stored[n - 1]), 18.0f);
      EXPECT_EQ(stored[n].bits, 0x1234);
    }
  }
}

}  // namespace
}  // namespace paged
