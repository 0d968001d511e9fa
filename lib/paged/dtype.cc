#include "paged/dtype.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paged {
namespace {

constexpr std::array kAll = {DType::kF16,     DType::kBF16,    DType::kF32,
                             DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8};

}  // namespace

int SizeOf(DType dtype) {
  if (dtype == DType::kF32) return 4;
  return dtype < DType::kF32 ? 2 : 1;
}

absl::string_view NameOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "fp16";
    case DType::kBF16:
      return "bf16";
    case DType::kF32:
      return "fp32";
    case DType::kFp8E4M3:
      return "fp8_e4m3";
    case DType::kFp8E5M2:
      return "fp8_e5m2";
    case DType::kInt8:
      return "int8";
  }
  return "unknown";
}

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  for (DType dtype : kAll) {
    if (NameOf(dtype) == name) return dtype;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "dtype must be fp16, bf16, fp32, fp8_e4m3, fp8_e5m2 or int8; got ",
      name));
}

}  // namespace paged
