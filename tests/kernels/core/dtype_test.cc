#include "kernels/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "tests/support/codes.h"
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

template <typename Element>
class EightBitCodeTest : public ::testing::Test {
 protected:
  static constexpr DType kDType =
      std::is_same_v<Element, Fp8E4M3>   ? DType::kFp8E4M3
      : std::is_same_v<Element, Fp8E5M2> ? DType::kFp8E5M2
                                         : DType::kInt8;
  // What the plain loop stores; the sign of NaN is nobody's.
  static void ExpectCode(float value) {
    uint8_t expected;
    WriteCodes(kDType, &expected, 0, {value}, 1.0f);
    const auto actual = static_cast<uint8_t>(FromFloat<Element>(value).bits);
    if (kDType != DType::kInt8 && std::isnan(value)) {
      ASSERT_TRUE(std::isnan(ToFloat(FromFloat<Element>(value))));
      return;
    }
    ASSERT_EQ(actual, expected) << value;
  }
};
using EightBitTypes = ::testing::Types<Fp8E4M3, Fp8E5M2, Int8>;
TYPED_TEST_SUITE(EightBitCodeTest, EightBitTypes);

TYPED_TEST(EightBitCodeTest, EveryCodeComesBack) {
  for (int i = 0; i < 256; ++i) {
    TypeParam code;
    std::memcpy(&code, &i, 1);
    if (!std::isfinite(ToFloat(code))) continue;
    EXPECT_EQ(FromFloat<TypeParam>(ToFloat(code)).bits, code.bits) << i;
  }
}

TYPED_TEST(EightBitCodeTest, RoundsToNearestEvenBetweenAllNeighbours) {
  for (int i = 0; i < 127; ++i) {
    const double below = DecodeBits(this->kDType, static_cast<uint16_t>(i));
    const double above = DecodeBits(this->kDType, static_cast<uint16_t>(i + 1));
    if (!std::isfinite(above)) continue;
    const auto middle = static_cast<float>((below + above) / 2);
    for (const float value :
         {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
      this->ExpectCode(value);
      this->ExpectCode(-value);
    }
  }
}

TYPED_TEST(EightBitCodeTest, RoundsAnyFloatAsTheDefinitionDoes) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000'000; ++i) {
    // Most of the exponents of all floats round to 0 or to the largest code.
    auto bits = static_cast<uint32_t>(random());
    if (i % 2 == 0) bits = (bits & 0x87ffffffu) | 0x38000000u;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    this->ExpectCode(value);
  }
}

TEST(EightBitTest, WhatIsTooLargeBecomesTheLargestAndNaNStays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (float value : {448.0f, 449.0f, 464.0f, 480.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(ToFloat(FromFloat<Fp8E4M3>(value)), 448.0f) << value;
    EXPECT_EQ(ToFloat(FromFloat<Fp8E4M3>(-value)), -448.0f) << value;
  }
  for (float value : {57344.0f, 61440.0f, 65536.0f, kInfinity}) {
    EXPECT_EQ(ToFloat(FromFloat<Fp8E5M2>(value)), 57344.0f) << value;
    EXPECT_EQ(ToFloat(FromFloat<Fp8E5M2>(-value)), -57344.0f) << value;
  }
  for (float value : {127.4f, 127.5f, 1e9f, kInfinity}) {
    EXPECT_EQ(ToFloat(FromFloat<Int8>(value)), 127.0f) << value;
    EXPECT_EQ(ToFloat(FromFloat<Int8>(-value - 1.0f)), -128.0f) << value;
  }
  EXPECT_TRUE(std::isnan(ToFloat(FromFloat<Fp8E4M3>(kNaN))));
  EXPECT_TRUE(std::isnan(ToFloat(FromFloat<Fp8E5M2>(kNaN))));
  EXPECT_EQ(ToFloat(FromFloat<Int8>(kNaN)), 0.0f);
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
