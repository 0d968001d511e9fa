// One decode problem out of the whole space of features, from one number.
#ifndef PAGED_TESTS_WALK_WALK_SPEC_H_
#define PAGED_TESTS_WALK_WALK_SPEC_H_

#include <cstdint>
#include <string>

#include "paged/options.h"
#include "tests/support/problem.h"
#include "tests/support/test_backend.h"

namespace paged::testing {

struct WalkCase {
  BackendKind kind = BackendKind::kCpu;
  ProblemSpec spec;
  float scale = 0.0f;  // of the shape; 0: the default
  DecodeOptions options;
};

// The same on every machine. On the GPU dimensions and strides are multiples of
// 16 bytes.
WalkCase WalkCaseOf(uint64_t seed, bool on_cuda);

// One line.
std::string ToString(const WalkCase& walk);

}  // namespace paged::testing

#endif  // PAGED_TESTS_WALK_WALK_SPEC_H_
