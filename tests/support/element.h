// Elements of tensors as doubles. Written from the formats'
// definitions and shared with no kernel, so that tests of kernels do not
// inherit their mistakes.
#ifndef PAGED_TESTS_SUPPORT_ELEMENT_H_
#define PAGED_TESTS_SUPPORT_ELEMENT_H_

#include <cstdint>

#include "paged/dtype.h"

namespace paged::testing {

// Value of a pattern of 16 or 8 bits.
double DecodeBits(DType dtype, uint16_t bits);

// Pattern of the nearest value, ties to even. What is larger than every finite
// value of a format without infinities is NaN there; int8 saturates, and takes
// NaN for its largest value.
uint16_t EncodeBits(DType dtype, double value);

double ReadElement(DType dtype, const void* tensor, int64_t index);
void WriteElement(DType dtype, void* tensor, int64_t index, double value);

// Half the distance between 1 and the next value: the relative error of
// rounding a normal number.
double UnitRoundoff(DType dtype);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_ELEMENT_H_
