// What the examples in public headers check with, as fatal test failures.
#ifndef PAGED_TESTS_BUILD_EXAMPLE_CHECKS_H_
#define PAGED_TESTS_BUILD_EXAMPLE_CHECKS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace paged::testing {

inline absl::Status StatusOf(const absl::Status& status) { return status; }

template <typename T>
absl::Status StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

}  // namespace paged::testing

#define CHECK(condition) ASSERT_TRUE(condition)
#define CHECK_EQ(a, b) ASSERT_EQ(a, b)
#define CHECK_NE(a, b) ASSERT_NE(a, b)
#define CHECK_LE(a, b) ASSERT_LE(a, b)
#define CHECK_LT(a, b) ASSERT_LT(a, b)
#define CHECK_GE(a, b) ASSERT_GE(a, b)
#define CHECK_GT(a, b) ASSERT_GT(a, b)
#define CHECK_OK(expression)                                                  \
  do {                                                                        \
    const absl::Status example_status = paged::testing::StatusOf(expression); \
    ASSERT_TRUE(example_status.ok()) << example_status;                       \
  } while (false)

#endif  // PAGED_TESTS_BUILD_EXAMPLE_CHECKS_H_
