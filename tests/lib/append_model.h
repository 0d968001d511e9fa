// Appends that convert, against a plain loop.
#ifndef PAGED_TESTS_LIB_APPEND_MODEL_H_
#define PAGED_TESTS_LIB_APPEND_MODEL_H_

#include <cstdint>
#include <vector>

#include "paged/append_kv.h"
#include "tests/support/test_backend.h"

namespace paged::testing {

// One of keys and values. The slots are of both.
struct CodesSpec {
  DType code = DType::kFp8E4M3;
  int dim = 64;
  std::vector<int64_t> slots = {17, 3, -1, 111, 64, 7 * 16, 20};
  int num_kv_heads = 3;
  int block_size = 16;
  int64_t num_blocks = 7;
  int64_t gap = 0;  // elements between rows of the caches and of the scales
  float factor = 1.0f;
  ScaleGranularity granularity = ScaleGranularity::kNone;
};

// Appends both, and compares every byte of pools and scales; what is not a new
// token's stays.
void ExpectCodes(BackendKind kind, DType row_dtype, const CodesSpec& key_spec,
                 const CodesSpec& value_spec,
                 const std::vector<float>& key_values,
                 const std::vector<float>& value_values);

// Magnitudes of many binades; outliers; a row of zeros, NaN and infinities.
std::vector<float> RandomValues(const CodesSpec& spec, uint32_t seed);

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_APPEND_MODEL_H_
