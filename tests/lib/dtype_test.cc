#include "paged/dtype.h"

#include <gtest/gtest.h>

namespace paged {
namespace {

TEST(DTypeTest, NamesParseBackToTheirType) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kFp8E4M3,
                      DType::kFp8E5M2, DType::kInt8}) {
    EXPECT_EQ(ParseDType(NameOf(dtype)).value(), dtype);
  }
}

TEST(DTypeTest, KnowsItsBytes) {
  EXPECT_EQ(SizeOf(DType::kF16), 2);
  EXPECT_EQ(SizeOf(DType::kBF16), 2);
  EXPECT_EQ(SizeOf(DType::kF32), 4);
  EXPECT_EQ(SizeOf(DType::kFp8E4M3), 1);
  EXPECT_EQ(SizeOf(DType::kFp8E5M2), 1);
  EXPECT_EQ(SizeOf(DType::kInt8), 1);
}

TEST(DTypeTest, UnknownNamesAreRefusedWithWhatIsAllowed) {
  for (const char* name : {"", "f16", "FP16", "fp16 ", "fp8"}) {
    const absl::Status status = ParseDType(name).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(
        status.message(),
        "dtype must be fp16, bf16, fp32, fp8_e4m3, fp8_e5m2 or int8; got " +
            std::string(name));
  }
}

}  // namespace
}  // namespace paged
