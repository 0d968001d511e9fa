#include "kernels/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/element.h"

namespace paged::testing {
namespace {

template <typename Element>
constexpr DType kDTypeOf = DType::kF16;
template <>
constexpr DType kDTypeOf<BFloat16> = DType::kBF16;

template <typename Element>
class SixteenBitTest : public ::testing::Test {};
using SixteenBitTypes = ::testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(SixteenBitTest, SixteenBitTypes);

// BR-130: every pattern, against the definition of the format.
TYPED_TEST(SixteenBitTest, EveryPatternHasItsValueAndComesBack) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const double expected = DecodeBits(kDTypeOf<TypeParam>, bits);
    const float actual = ToFloat(TypeParam{bits});
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << i;
      EXPECT_TRUE(std::isnan(ToFloat(FromFloat<TypeParam>(actual)))) << i;
      continue;
    }
    ASSERT_EQ(static_cast<double>(actual), expected) << i;
    ASSERT_EQ(std::signbit(actual), (i & 0x8000) != 0) << i;
    ASSERT_EQ(FromFloat<TypeParam>(actual).bits, bits);
  }
}

// Halfway between neighbours, and one float to either side of it.
TYPED_TEST(SixteenBitTest, RoundsToNearestEvenBetweenAllNeighbours) {
  for (int i = 0; i < 0x7fff; ++i) {
    const auto below = ToFloat(TypeParam{static_cast<uint16_t>(i)});
    const auto above = ToFloat(TypeParam{static_cast<uint16_t>(i + 1)});
    if (!std::isfinite(above)) continue;
    const float middle = below + (above - below) / 2;
    for (float value : {middle, std::nextafter(middle, below),
                        std::nextafter(middle, above)}) {
      ASSERT_EQ(FromFloat<TypeParam>(value).bits,
                EncodeBits(kDTypeOf<TypeParam>, double{value}))
          << value;
      ASSERT_EQ(FromFloat<TypeParam>(-value).bits,
                EncodeBits(kDTypeOf<TypeParam>, -double{value}))
          << -value;
    }
  }
}

TYPED_TEST(SixteenBitTest, RoundsAnyFloatAsTheDefinitionDoes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    const TypeParam rounded = FromFloat<TypeParam>(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(ToFloat(rounded)));
      continue;
    }
    ASSERT_EQ(rounded.bits, EncodeBits(kDTypeOf<TypeParam>, double{value}))
        << value;
  }
}

TEST(HalfTest, OverflowsToInfinityFromHalfwayOn) {
  EXPECT_EQ(ToFloat(FromFloat<Half>(65504.0f)), 65504.0f);
  EXPECT_EQ(ToFloat(FromFloat<Half>(65519.996f)), 65504.0f);
  EXPECT_EQ(ToFloat(FromFloat<Half>(65520.0f)),
            std::numeric_limits<float>::infinity());
}

TEST(FloatTest, PassesThrough) {
  EXPECT_EQ(ToFloat(FromFloat<float>(1.1f)), 1.1f);
  EXPECT_EQ(BytesOf(ElementKind::kF32), 4);
  EXPECT_EQ(BytesOf(ElementKind::kBF16), 2);
}

template <typename Element>
void ExpectEveryCodeHasItsValue(DType dtype) {
  for (int i = 0; i < 256; ++i) {
    Element code;
    std::memcpy(&code, &i, 1);
    const double expected = DecodeBits(dtype, static_cast<uint16_t>(i));
    const float actual = ToFloat(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << i;
      continue;
    }
    EXPECT_EQ(static_cast<double>(actual), expected) << i;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << i;
    EXPECT_EQ(EncodeBits(dtype, expected), i);
  }
}

// BR-128, 130: every code of 8 bits, against the definition of the format.
TEST(EightBitTest, EveryCodeHasItsValue) {
  ExpectEveryCodeHasItsValue<Fp8E4M3>(DType::kFp8E4M3);
  ExpectEveryCodeHasItsValue<Fp8E5M2>(DType::kFp8E5M2);
  ExpectEveryCodeHasItsValue<Int8>(DType::kInt8);
}

// The values that tell the two flavours of E4M3 apart, by hand.
TEST(EightBitTest, TheLargestValuesAreThoseOfTheSpecification) {
  EXPECT_EQ(ToFloat(Fp8E4M3{0x7e}), 448.0f);
  EXPECT_TRUE(std::isnan(ToFloat(Fp8E4M3{0x7f})));
  EXPECT_TRUE(std::isnan(ToFloat(Fp8E4M3{0xff})));
  EXPECT_EQ(ToFloat(Fp8E4M3{0x01}), 0x1p-9f);
  EXPECT_EQ(ToFloat(Fp8E5M2{0x7b}), 57344.0f);
  EXPECT_TRUE(std::isinf(ToFloat(Fp8E5M2{0x7c})));
  EXPECT_TRUE(std::isnan(ToFloat(Fp8E5M2{0x7d})));
  EXPECT_EQ(ToFloat(Fp8E5M2{0x01}), 0x1p-16f);
  EXPECT_EQ(ToFloat(Int8{-128}), -128.0f);
}

}  // namespace
}  // namespace paged::testing
