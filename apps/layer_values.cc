#include <bit>
#include <cmath>
#include <cstring>

#include "apps/layer.h"

namespace paged {
namespace {

template <typename Bits>
Bits Load(const char* data, int64_t i) {
  Bits bits;
  std::memcpy(&bits, data + i * static_cast<int64_t>(sizeof(Bits)),
              sizeof(Bits));
  return bits;
}

// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
double FromHalfBits(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double FromBFloat16Bits(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

template <typename Convert>
std::vector<double> Map(int64_t count, const Convert& convert) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = convert(i);
  }
  return values;
}

}  // namespace

std::vector<double> ToDoubles(DType dtype, const void* data,
                              int64_t num_elements) {
  const char* bytes = static_cast<const char*>(data);
  switch (dtype) {
    case DType::kF16:
      return Map(num_elements, [bytes](int64_t i) {
        return FromHalfBits(Load<uint16_t>(bytes, i));
      });
    case DType::kBF16:
      return Map(num_elements, [bytes](int64_t i) {
        return FromBFloat16Bits(Load<uint16_t>(bytes, i));
      });
    case DType::kF32:
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kInt8:
      break;  // no tensor of a file has 8 bits
  }
  return Map(num_elements, [bytes](int64_t i) {
    return static_cast<double>(Load<float>(bytes, i));
  });
}

std::vector<double> ToDoubles(const TensorView& tensor) {
  const char* bytes = tensor.data;
  if (tensor.dtype == "F64") {
    return Map(tensor.num_elements,
               [bytes](int64_t i) { return Load<double>(bytes, i); });
  }
  const DType dtype = tensor.dtype == "F16"    ? DType::kF16
                      : tensor.dtype == "BF16" ? DType::kBF16
                                               : DType::kF32;
  return ToDoubles(dtype, bytes, tensor.num_elements);
}

}  // namespace paged
