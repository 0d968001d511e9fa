#include "kernels/core/quantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace paged::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(QuantiseTest, ARowReachesTheLargestCodeAndNoFurther) {
  for (float amax : {1e-20f, 0.1f, 1.0f, 3.7f, 65504.0f, 3e38f}) {
    for (float factor : {0.01f, 1.0f, 3.7f}) {
      const auto scale = [&](float largest) {
        return factor * RowScale(amax, largest, factor);
      };
      EXPECT_EQ(Quantised<Int8>(amax, scale(127.0f)).bits, 127);
      EXPECT_EQ(Quantised<Int8>(-amax, scale(127.0f)).bits, -127);
      EXPECT_EQ(Quantised<Fp8E4M3>(amax, scale(448.0f)).bits, 0x7e);
      EXPECT_EQ(Quantised<Fp8E5M2>(-amax, scale(57344.0f)).bits, 0xfb);
      // Relative to the row's largest value, half a step of int8.
      for (float value : {0.3f * amax, -0.77f * amax}) {
        EXPECT_NEAR(
            ToFloat(Quantised<Int8>(value, scale(127.0f))) * scale(127.0f),
            value, amax / 127 * 0.5001f);
      }
    }
  }
}

TEST(QuantiseTest, ScalesArePositiveFiniteAndNormal) {
  for (float amax : {1e-45f, 1e-38f, 1.0f, 3e38f}) {
    for (float largest : {1.0f, 127.0f, 448.0f, 57344.0f}) {
      for (float factor : {1e-45f, 1e-30f, 1.0f, 1e30f, 3e38f}) {
        const float scale = RowScale(amax, largest, factor);
        EXPECT_TRUE(std::isnormal(scale)) << amax << " " << factor;
        EXPECT_GT(scale, 0.0f);
        EXPECT_TRUE(std::isfinite(factor * scale)) << amax << " " << factor;
        EXPECT_GT(factor * scale, 0.0f) << amax << " " << factor;
      }
    }
  }
  EXPECT_EQ(RowScale(0.0f, 448.0f, 0.5f), 1.0f);
}

TEST(QuantiseTest, OnlyFiniteValuesMakeAScale) {
  EXPECT_EQ(FiniteMagnitude(-3.0f), 3.0f);
  EXPECT_EQ(FiniteMagnitude(0x1.fffffep127f), 0x1.fffffep127f);
  for (float value : {kInfinity, -kInfinity, kNaN, -kNaN}) {
    EXPECT_EQ(FiniteMagnitude(value), 0.0f);
  }
}

}  // namespace
}  // namespace paged::testing
