#include "tests/support/codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/element.h"

namespace paged::testing {

double LargestCode(DType dtype) {
  switch (dtype) {
    case DType::kFp8E4M3:
      return 448.0;
    case DType::kFp8E5M2:
      return 57344.0;
    case DType::kInt8:
      return 127.0;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

float ScaledTo(DType dtype) {
  return SizeOf(dtype) == 1 ? static_cast<float>(LargestCode(dtype)) : 1.0f;
}

float RowScaleOf(DType dtype, const std::vector<float>& row, float factor) {
  float amax = 0.0f;
  for (const float value : row) {
    if (std::isfinite(value)) amax = std::max(amax, std::fabs(value));
  }
  if (amax == 0.0f) return 1.0f;
  const auto normal = [](float x) {
    return std::clamp(x, std::numeric_limits<float>::min(),
                      std::numeric_limits<float>::max());
  };
  return normal(normal(amax / ScaledTo(dtype)) / factor);
}

void WriteCodes(DType dtype, void* tensor, int64_t first,
                const std::vector<float>& row, float scale) {
  const double largest = LargestCode(dtype);
  const double least = dtype == DType::kInt8 ? -128.0 : -largest;
  for (const float value : row) {
    double quotient = value / scale;
    if (std::isnan(quotient)) {
      if (dtype == DType::kInt8) quotient = 0.0;
    } else {
      quotient = std::clamp(quotient, least, largest);
    }
    WriteElement(dtype, tensor, first++, quotient);
  }
}

std::vector<std::byte> WithOneNaN(DType dtype, std::vector<std::byte> bytes) {
  const auto count = static_cast<int64_t>(bytes.size()) / SizeOf(dtype);
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(ReadElement(dtype, bytes.data(), i))) {
      WriteElement(dtype, bytes.data(), i,
                   std::numeric_limits<double>::quiet_NaN());
    }
  }
  return bytes;
}

}  // namespace paged::testing
