#include "kernels/core/index_divisor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace paged::testing {
namespace {

constexpr uint32_t kMost = 0x7fffffffu;

void ExpectQuotient(const IndexDivisor& divide, uint32_t index,
                    uint32_t divisor) {
  ASSERT_EQ(divide(index), index / divisor) << index << " / " << divisor;
}

// Where a quotient steps, an error of one part in 2^31 shows.
void ExpectQuotients(uint32_t divisor, std::mt19937& random) {
  const IndexDivisor divide(divisor);
  for (uint32_t index : {0u, 1u, divisor - 1, divisor, kMost - 1, kMost}) {
    ExpectQuotient(divide, index, divisor);
  }
  for (int i = 0; i < 200; ++i) {
    const auto index = static_cast<uint32_t>(random()) & kMost;
    const uint32_t multiple = index / divisor * divisor;
    ExpectQuotient(divide, index, divisor);
    ExpectQuotient(divide, multiple, divisor);
    if (multiple > 0) ExpectQuotient(divide, multiple - 1, divisor);
  }
}

TEST(IndexDivisorTest, SmallDivisors) {
  std::mt19937 random(1);
  for (uint32_t divisor = 1; divisor < 5000; ++divisor) {
    ExpectQuotients(divisor, random);
  }
}

TEST(IndexDivisorTest, DivisorsOfAllSizes) {
  std::mt19937 random(2);
  for (int bits = 1; bits <= 31; ++bits) {
    const uint32_t power = uint32_t{1} << (bits - 1);
    for (uint32_t divisor : {power, power + 1, power | 1u, 2 * power - 1}) {
      if (divisor <= kMost) ExpectQuotients(divisor, random);
    }
    for (int i = 0; i < 50; ++i) {
      ExpectQuotients(power | (static_cast<uint32_t>(random()) & (power - 1)),
                      random);
    }
  }
}

}  // namespace
}  // namespace paged::testing
