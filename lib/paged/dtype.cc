#include "paged/dtype.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paged {
namespace {

constexpr std::array kAll = {DType::kF16, DType::kBF16, DType::kF32};

}  // namespace

int SizeOf(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

absl::string_view NameOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return "fp16";
    case DType::kBF16:
      return "bf16";
    case DType::kF32:
      return "fp32";
  }
  return "unknown";
}

absl::StatusOr<DType> ParseDType(absl::string_view name) {
  for (DType dtype : kAll) {
    if (NameOf(dtype) == name) return dtype;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("dtype must be fp16, bf16 or fp32; got ", name));
}

}  // namespace paged
