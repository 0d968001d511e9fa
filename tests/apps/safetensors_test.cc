#include "apps/safetensors.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/apps/tensor_file_builder.h"

namespace paged {
namespace {

using ::paged::testing::FileOf;
using ::paged::testing::TemporaryFile;
using ::paged::testing::TensorFileBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of two tensors of 4 bytes each: "a" and "b" with these fields.
std::string TwoTensors(const std::string& a, const std::string& b) {
  return absl::StrCat(R"({"a":{)", a, R"(},"b":{)", b, "}}");
}
constexpr char kFirst[] = R"("dtype":"F16","shape":[2],"data_offsets":[0,4])";
constexpr char kSecond[] = R"("dtype":"F16","shape":[2],"data_offsets":[4,8])";

TEST(SafetensorsTest, FindsTensorsWhereTheyLie) {
  const std::vector<int32_t> lens = {7, -3};
  const std::vector<double> values = {0.5, 1.5, 2.5};
  auto file = TensorFile::Parse(TensorFileBuilder()
                                    .Add("lens", "I32", {2}, lens)
                                    .Add("empty", "F16", {0, 4}, std::string())
                                    .Add("values", "F64", {3, 1}, values)
                                    .Build());
  ASSERT_TRUE(file.ok()) << file.status();
  const TensorFile moved = *std::move(file);
  const TensorView* found = moved.Find("values");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->shape, ElementsAre(3, 1));
  EXPECT_EQ(std::string(found->data, found->num_bytes),
            std::string(reinterpret_cast<const char*>(values.data()), 24));
  EXPECT_EQ(moved.Find("empty")->num_elements, 0);
  EXPECT_EQ(moved.Find("absent"), nullptr);
}

TEST(SafetensorsTest, IgnoresMetadataWhateverItHolds) {
  const auto file = TensorFile::Parse(FileOf(
      R"({"__metadata__":{"a":"b","c":[1,-2,{"d":null}]},"x":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}   )",
      "!"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors().size(), 1u);
  EXPECT_EQ(file->Find("x")->num_elements, 1);
}

struct Malformed {
  const char* name;
  std::string header;
  std::string data;
  const char* message;
};

class MalformedHeaderTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedHeaderTest, IsRefusedWithAReason) {
  const auto file =
      TensorFile::Parse(FileOf(GetParam().header, GetParam().data));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr(GetParam().message));
}

Malformed Second(const char* name, const char* second, const char* message) {
  return {name, TwoTensors(kFirst, second), "12345678", message};
}

INSTANTIATE_TEST_SUITE_P(
    Tensor, MalformedHeaderTest,
    ::testing::Values(
        Second("Overlap", R"("dtype":"F16","shape":[2],"data_offsets":[2,6])",
               "must begin at byte 4"),
        Second("Gap", R"("dtype":"F16","shape":[1],"data_offsets":[6,8])",
               "must begin at byte 4"),
        Second("Short", R"("dtype":"F16","shape":[1],"data_offsets":[4,6])",
               "must fill the file's 8 bytes"),
        Second("Reversed", R"("dtype":"F16","shape":[2],"data_offsets":[8,4])",
               "must lie within"),
        Second("PastTheEnd",
               R"("dtype":"F16","shape":[4],"data_offsets":[4,12])",
               "must lie within"),
        Second(
            "FarPastTheEnd",
            R"("dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615])",
            "must lie within"),
        Second("SizeOfShape",
               R"("dtype":"F32","shape":[2],"data_offsets":[4,8])",
               "must have 8 bytes"),
        Second("UnknownDtype",
               R"("dtype":"F17","shape":[2],"data_offsets":[4,8])",
               "known dtype; got F17"),
        Second(
            "Overflow",
            R"("dtype":"U8","shape":[4294967296,4294967296,4],"data_offsets":[4,8])",
            "overflows"),
        Second(
            "OverflowOfBytes",
            R"("dtype":"F64","shape":[2305843009213693953],"data_offsets":[4,8])",
            "overflows"),
        Second(
            "OverflowBeforeZero",
            R"("dtype":"U8","shape":[18446744073709551615,2,0],"data_offsets":[8,8])",
            "overflows"),
        Second("NegativeExtent",
               R"("dtype":"F16","shape":[-2],"data_offsets":[4,8])",
               "the number -2 in shape"),
        Second("FractionalExtent",
               R"("dtype":"F16","shape":[2.0],"data_offsets":[4,8])",
               "the number 2.0 in shape"),
        Second("HugeExtent",
               R"("dtype":"F16","shape":[1e999],"data_offsets":[4,8])",
               "is not JSON"),
        Second("NegativeOffset",
               R"("dtype":"F16","shape":[2],"data_offsets":[-4,8])",
               "in data_offsets"),
        Second("ThreeOffsets",
               R"("dtype":"F16","shape":[2],"data_offsets":[4,6,8])",
               "two data_offsets; got 3"),
        Second("NoOffsets", R"("dtype":"F16","shape":[2])",
               "must have dtype, shape and data_offsets"),
        Second("DtypeNumber", R"("dtype":16,"shape":[2],"data_offsets":[4,8])",
               "the number 16 for dtype"),
        Second("ShapeString",
               R"("dtype":"F16","shape":"2","data_offsets":[4,8])",
               "a string for shape"),
        Second("NestedShape",
               R"("dtype":"F16","shape":[[2]],"data_offsets":[4,8])",
               "an array in shape"),
        Second("ObjectInShape",
               R"("dtype":"F16","shape":[{}],"data_offsets":[4,8])",
               "an object in shape"),
        Second(
            "RepeatedField",
            R"("dtype":"F16","dtype":"F16","shape":[2],"data_offsets":[4,8])",
            "dtype twice"),
        Second("UnknownField",
               R"("dtype":"F16","shape":[2],"data_offsets":[4,8],"x":1)",
               "a field x")),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    File, MalformedHeaderTest,
    ::testing::Values(
        Malformed{"Array", "[1, 2]", "", "must begin with '{'"},
        Malformed{"Number", "17", "", "must begin with '{'"},
        Malformed{"Blanks", "    ", "", "must begin with '{'"},
        Malformed{"Unclosed", R"({"a":)", "", "is not JSON"},
        Malformed{"TwoObjects", "{}{}", "", "is not JSON"},
        Malformed{"BareKey", R"({a:{}})", "", "is not JSON"},
        Malformed{"NumberKey", R"({1:{}})", "", "is not JSON"},
        Malformed{"BadUtf8", "{\"\xff\":{}}", "", "is not JSON"},
        Malformed{"NotANumber", R"({"a":{"shape":[NaN]}})", "", "is not JSON"},
        Malformed{"NullTensor", R"({"a":null})", "", "null for tensor a"},
        Malformed{"ArrayTensor", R"({"a":[]})", "", "an array for tensor a"},
        Malformed{"EmptyTensor", R"({"a":{}})", "", "must have dtype"},
        Malformed{"MetadataString", R"({"__metadata__":"x"})", "",
                  "a string for __metadata__"},
        Malformed{"TwoMetadata", R"({"__metadata__":{},"__metadata__":{}})", "",
                  "__metadata__ twice"},
        Malformed{
            "TwoOfAName",
            absl::StrCat(R"({"a":{)", kFirst, R"(},"a":{)", kSecond, "}}"),
            "12345678", "tensor a twice"},
        Malformed{"StrayData", "{}", "1", "must fill the file's 1 bytes"},
        Malformed{"DeepMetadata",
                  absl::StrCat(R"({"__metadata__":{"a":)",
                               std::string(100000, '['), "}}"),
                  "", "nested too deeply"},
        Malformed{"DeepObjects",
                  absl::StrCat(R"({"__metadata__":)",
                               [] {
                                 std::string deep;
                                 for (int i = 0; i < 100000; ++i) {
                                   deep += R"({"a":)";
                                 }
                                 return deep;
                               }()),
                  "", "nested too deeply"}),
    [](const auto& test) { return test.param.name; });

TEST(SafetensorsTest, RefusesEveryTruncation) {
  const std::vector<char> whole =
      FileOf(TwoTensors(kFirst, kSecond), "12345678");
  ASSERT_TRUE(TensorFile::Parse(whole).ok());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> part(whole.begin(),
                                 whole.begin() + static_cast<int64_t>(size));
    EXPECT_FALSE(TensorFile::Parse(part).ok()) << size << " bytes";
  }
}

TEST(SafetensorsTest, RefusesLyingHeaderLengths) {
  const std::vector<char> whole =
      FileOf(TwoTensors(kFirst, kSecond), "12345678");
  for (uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{whole.size() - 7},
                          uint64_t{100'000'001}, uint64_t{1} << 63,
                          ~uint64_t{0}, ~uint64_t{0} - 7}) {
    std::vector<char> lying = whole;
    for (std::size_t i = 0; i < 8; ++i) {
      lying[i] = static_cast<char>((length >> (8 * i)) & 255);
    }
    const auto file = TensorFile::Parse(lying);
    EXPECT_THAT(std::string(file.status().message()),
                HasSubstr("header length must be"))
        << length;
  }
}

TEST(SafetensorsTest, RefusesPathsThatAreNoFiles) {
  EXPECT_EQ(TensorFile::Read("/nonexistent/x.safetensors").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(TensorFile::Read(::testing::TempDir()).status().code(),
            absl::StatusCode::kInvalidArgument);
  const TemporaryFile empty({});
  EXPECT_EQ(TensorFile::Read(empty.path()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SafetensorsTest, KeepsHostileNamesOutOfTheTerminal) {
  const auto file = TensorFile::Parse(FileOf(
      R"({"a\n\u001b[31m":{"dtype":"F17\n","shape":[],"data_offsets":[0,0]}})",
      ""));
  const std::string message(file.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace paged
