// What a cache stores of a row of values: the plain loop that appends are
// tested against. Shares no code with the kernels.
#ifndef PAGED_TESTS_SUPPORT_CODES_H_
#define PAGED_TESTS_SUPPORT_CODES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "paged/dtype.h"

namespace paged::testing {

// The largest magnitude of a finite code, and what a row with a scale of its
// own is scaled to.
double LargestCode(DType dtype);
float ScaledTo(DType dtype);

// The scale that a row gets beside `factor`.
float RowScaleOf(DType dtype, const std::vector<float>& row, float factor);

// Writes value / scale from element `first` of `tensor` on: the quotient in
// binary32, then the nearest code, ties to even; overflow and NaN as
// AppendKvArgs says.
void WriteCodes(DType dtype, void* tensor, int64_t first,
                const std::vector<float>& row, float scale);

// `bytes` with one pattern for all NaN.
std::vector<std::byte> WithOneNaN(DType dtype, std::vector<std::byte> bytes);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_CODES_H_
