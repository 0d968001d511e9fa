// Element types of queries, caches and outputs.
//
// Example:
//
//     paged::DType dtype = paged::ParseDType("bf16").value();
//     CHECK_EQ(paged::SizeOf(dtype), 2);
//     CHECK_EQ(paged::NameOf(dtype), "bf16");
#ifndef PAGED_LIB_PAGED_DTYPE_H_
#define PAGED_LIB_PAGED_DTYPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paged {

// Queries and outputs are stored as the first three; caches as any.
enum class DType : uint8_t {
  kF16,
  kBF16,
  kF32,
  kFp8E4M3,  // OFP8: 4 bits of exponent, no infinities ("e4m3fn")
  kFp8E5M2,  // OFP8: 5 bits of exponent, as a binary16 cut short
  kInt8,
};

// Bytes of one element.
int SizeOf(DType dtype);

// "fp16", "bf16", "fp32", "fp8_e4m3", "fp8_e5m2" or "int8".
absl::string_view NameOf(DType dtype);

// The inverse of NameOf. InvalidArgument for any other text.
absl::StatusOr<DType> ParseDType(absl::string_view name);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_DTYPE_H_
