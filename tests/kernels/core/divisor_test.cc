#include "kernels/core/divisor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/core/quantise.h"

namespace paged::testing {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

// Of any sign, exponent and mantissa; numbers alone.
float AnyNumber(std::mt19937& random) {
  for (;;) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) return value;
  }
}

// Scales as rows have them, and the awkward ones: powers of two, and mantissas
// of all ones, whose reciprocals are the least exact.
std::vector<float> Scales(std::mt19937& random) {
  std::vector<float> scales = {1.0f,     0.5f,     3.0f,      0x1.fffffep0f,
                               0x1p-60f, 0x1p-40f, 0x1p60f,   0x1.fffffep-9f,
                               1 / 3.0f, 0.1f,     1 / 448.f, 1 / 127.0f};
  std::uniform_real_distribution<float> exponent(-12.0f, 8.0f);
  for (int i = 0; i < 60; ++i) scales.push_back(std::exp2(exponent(random)));
  return scales;
}

// Bits, so that signs of zeros count.
void ExpectSameQuotient(const Divisor& divide, float value, float scale) {
  ASSERT_EQ(std::bit_cast<uint32_t>(divide(value)),
            std::bit_cast<uint32_t>(value / scale))
      << value << " / " << scale;
}

TEST(DivisorTest, EveryNumberOfFp16IsDividedExactly) {
  std::mt19937 random(1);
  for (const float scale : Scales(random)) {
    const Divisor divide(scale);
    ASSERT_TRUE(divide.IsExactFor(0x1p-24f, 65504.0f)) << scale;
    for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
      const float value = ToFloat(Half{static_cast<uint16_t>(bits)});
      if (std::isfinite(value)) ExpectSameQuotient(divide, value, scale);
    }
  }
}

TEST(DivisorTest, NumbersWithinTheBoundsAreDividedExactly) {
  std::mt19937 random(2);
  int num_divided = 0;
  for (int i = 0; i < 2000000; ++i) {
    const float value = AnyNumber(random);
    const float scale = std::fabs(AnyNumber(random));
    const Divisor divide(scale);
    if (!divide.IsExactFor(std::fabs(value), std::fabs(value))) continue;
    ++num_divided;
    ExpectSameQuotient(divide, value, scale);
  }
  EXPECT_GT(num_divided, 200000);
}

TEST(DivisorTest, AScaleOfOneChangesNothing) {
  const Divisor divide(1.0f);
  EXPECT_TRUE(divide.IsExactFor(0.0f, kLargest));
  for (const float value : {0.0f, -0.0f, 1e-45f, -1e-40f, kLargest, -3.0f}) {
    ExpectSameQuotient(divide, value, 1.0f);
  }
}

template <typename Code>
void ExpectSameCodes(uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> near(0.999999f, 1.000001f);
  for (const float scale : Scales(random)) {
    const Divisor divide(scale);
    for (int i = 0; i < 40000; ++i) {
      float value = AnyNumber(random);
      // Of any magnitude, of one that has a code, and next to the middle of two
      // codes.
      if (i % 3 == 1) value = ToFloat(FromFloat<BFloat16>(value));
      if (i % 3 == 2) {
        const auto bits = static_cast<decltype(Code::bits)>(random());
        const auto next = static_cast<decltype(Code::bits)>(bits + 1);
        value = (ToFloat(Code{bits}) + ToFloat(Code{next})) / 2 * scale *
                near(random);
        if (std::isnan(value)) continue;
      }
      if (!divide.IsExactForBytes(std::fabs(value))) continue;
      ASSERT_EQ(FromFloat<Code>(divide(value)).bits,
                Quantised<Code>(value, scale).bits)
          << value << " / " << scale;
    }
  }
}

TEST(DivisorTest, CodesOfEightBitsAreThoseOfTheDivision) {
  ExpectSameCodes<Fp8E4M3>(3);
  ExpectSameCodes<Fp8E5M2>(4);
  ExpectSameCodes<Int8>(5);
}

// BFloat16 whole, with subnormals, whose quotients leave the normal numbers.
TEST(DivisorTest, EveryNumberOfBf16HasTheCodeOfTheDivision) {
  std::mt19937 random(6);
  for (const float scale : Scales(random)) {
    const Divisor divide(scale);
    for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
      const float value = ToFloat(BFloat16{static_cast<uint16_t>(bits)});
      if (!divide.IsExactForBytes(std::fabs(value))) continue;
      const float quotient = divide(value);
      ASSERT_EQ(FromFloat<Fp8E5M2>(quotient).bits,
                Quantised<Fp8E5M2>(value, scale).bits)
          << value << " / " << scale;
      ASSERT_EQ(FromFloat<Fp8E4M3>(quotient).bits,
                Quantised<Fp8E4M3>(value, scale).bits)
          << value << " / " << scale;
    }
  }
}

TEST(DivisorTest, OtherRowsAreRefused) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float largest : {kNaN, kInfinity}) {
    EXPECT_FALSE(Divisor(1.0f).IsExactFor(1.0f, largest));
    EXPECT_FALSE(Divisor(1.0f).IsExactForBytes(largest));
  }
  for (const float scale : {0.0f, -1.0f, kNaN, kInfinity, 1e-45f, 1e30f}) {
    EXPECT_FALSE(Divisor(scale).IsExactFor(1.0f, 1.0f)) << scale;
    EXPECT_FALSE(Divisor(scale).IsExactForBytes(1.0f)) << scale;
  }
  EXPECT_FALSE(Divisor(0.5f).IsExactFor(1e-45f, 1.0f));
}

}  // namespace
}  // namespace paged::testing
