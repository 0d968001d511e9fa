#include "tests/support/element.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace paged::testing {
namespace {

struct Format {
  int mantissa_bits;
  int exponent_bits;
  bool has_infinities = true;  // else NaN is the largest pattern alone
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int special_exponent() const { return (1 << exponent_bits) - 1; }
  int sign_bit() const { return 1 << (mantissa_bits + exponent_bits); }
  // The least pattern that is not a finite number.
  int first_special() const {
    return has_infinities ? special_exponent() << mantissa_bits
                          : sign_bit() - 1;
  }
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {10, 5};
    case DType::kFp8E4M3:
      return {3, 4, false};
    case DType::kFp8E5M2:
      return {2, 5};
    default:
      return {7, 8};
  }
}

using Table = std::array<double, 65536>;

Table MakeTable(DType dtype) {
  Table table;
  for (int bits = 0; bits < 65536; ++bits) {
    table[static_cast<std::size_t>(bits)] =
        DecodeBits(dtype, static_cast<uint16_t>(bits));
  }
  return table;
}

}  // namespace

double DecodeBits(DType dtype, uint16_t bits) {
  if (dtype == DType::kInt8) return static_cast<int8_t>(bits);
  const Format format = FormatOf(dtype);
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent =
      (bits >> format.mantissa_bits) & format.special_exponent();
  const double sign = (bits & format.sign_bit()) != 0 ? -1.0 : 1.0;
  if ((bits & (format.sign_bit() - 1)) >= format.first_special()) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const int unit = format.bias() + format.mantissa_bits;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - unit);
  return sign *
         std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - unit);
}

uint16_t EncodeBits(DType dtype, double value) {
  if (dtype == DType::kInt8) {
    const double nearest = std::nearbyint(std::fmin(value, 127.0));
    return static_cast<uint8_t>(
        static_cast<int8_t>(std::fmax(nearest, -128.0)));
  }
  const Format format = FormatOf(dtype);
  const int infinity = format.first_special();
  const int sign = std::signbit(value) ? format.sign_bit() : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(infinity | (1 << (format.mantissa_bits - 1)));
  }
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  if (magnitude == 0.0) return static_cast<uint16_t>(sign);
  // In units of the last place; subnormals share that of the least exponent.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  const auto units = static_cast<int64_t>(
      std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  // A mantissa that rounds up to the next power of two carries by itself.
  const int64_t bits = (static_cast<int64_t>(exponent + format.bias() - 1)
                        << format.mantissa_bits) +
                       units;
  return static_cast<uint16_t>(sign | (bits >= infinity ? infinity : bits));
}

double ReadElement(DType dtype, const void* tensor, int64_t index) {
  const auto* bytes = static_cast<const char*>(tensor);
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, bytes + index * 4, sizeof(value));
    return value;
  }
  if (SizeOf(dtype) == 1) {
    return DecodeBits(dtype, static_cast<uint8_t>(bytes[index]));
  }
  static const Table* const half = new Table(MakeTable(DType::kF16));
  static const Table* const bfloat = new Table(MakeTable(DType::kBF16));
  uint16_t bits;
  std::memcpy(&bits, bytes + index * 2, sizeof(bits));
  return dtype == DType::kF16 ? (*half)[bits] : (*bfloat)[bits];
}

void WriteElement(DType dtype, void* tensor, int64_t index, double value) {
  auto* bytes = static_cast<char*>(tensor);
  if (dtype == DType::kF32) {
    const auto single = static_cast<float>(value);
    std::memcpy(bytes + index * 4, &single, sizeof(single));
    return;
  }
  const uint16_t bits = EncodeBits(dtype, value);
  if (SizeOf(dtype) == 1) {
    bytes[index] = static_cast<char>(bits);
    return;
  }
  std::memcpy(bytes + index * 2, &bits, sizeof(bits));
}

double UnitRoundoff(DType dtype) {
  if (dtype == DType::kF32) return 0x1p-24;
  return std::ldexp(1.0, -(FormatOf(dtype).mantissa_bits + 1));
}

}  // namespace paged::testing
