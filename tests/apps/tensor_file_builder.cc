#include "tests/apps/tensor_file_builder.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "kernels/core/dtype.h"
#include "kernels/core/hash.h"

namespace paged::testing {
namespace {

template <typename Element>
std::string Bytes(int64_t count, uint32_t seed, float added_to_last) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    const float added = i + 1 == count ? added_to_last : 0.0f;
    const Element element = FromFloat<Element>(HashUniform(seed, i) + added);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
  return bytes;
}

std::string BytesOfType(const std::string& dtype, int64_t count, uint32_t seed,
                        float added_to_last = 0.0f) {
  if (dtype == "F16") return Bytes<Half>(count, seed, added_to_last);
  if (dtype == "BF16") return Bytes<BFloat16>(count, seed, added_to_last);
  return Bytes<float>(count, seed, added_to_last);
}

}  // namespace

std::vector<char> FileOf(const std::string& header, const std::string& data) {
  std::vector<char> file;
  for (int i = 0; i < 8; ++i) {
    file.push_back(
        static_cast<char>((uint64_t{header.size()} >> (8 * i)) & 255));
  }
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

TensorFileBuilder& TensorFileBuilder::Add(const std::string& name,
                                          const std::string& dtype,
                                          const std::vector<int64_t>& shape,
                                          const std::string& bytes) {
  absl::StrAppend(&entries_, entries_.empty() ? "" : ",", "\"", name,
                  "\":{\"dtype\":\"", dtype, "\",\"shape\":[",
                  absl::StrJoin(shape, ","), "],\"data_offsets\":[",
                  data_.size(), ",", data_.size() + bytes.size(), "]}");
  data_ += bytes;
  return *this;
}

std::vector<char> TensorFileBuilder::Build() const {
  return FileOf(absl::StrCat("{", entries_, "}"), data_);
}

TensorFileBuilder SmallLayer(const SmallLayerOptions& o) {
  int64_t tokens = 0;
  for (int32_t len : o.context_lens) tokens += len;
  const auto seqs = static_cast<int64_t>(o.context_lens.size());
  const int64_t kv_elements = tokens * o.num_kv_heads * o.head_dim;
  TensorFileBuilder builder;
  builder.Add("context_lens", "I32", {seqs}, o.context_lens)
      .Add(o.layer + ".query", o.dtype, {seqs, o.num_q_heads, o.head_dim},
           BytesOfType(o.dtype, seqs * o.num_q_heads * o.head_dim, 1))
      .Add(o.layer + ".key", o.dtype, {tokens, o.num_kv_heads, o.head_dim},
           BytesOfType(o.dtype, kv_elements, 2))
      .Add(o.layer + ".value", o.dtype, {tokens, o.num_kv_heads, o.head_dim},
           BytesOfType(o.dtype, kv_elements, 3, o.poison_value));
  return builder;
}

TemporaryFile::TemporaryFile(const std::vector<char>& bytes) {
  static int counter = 0;
  path_ = absl::StrCat(::testing::TempDir(), "/paged_apps_test_", getpid(), "_",
                       counter++, ".safetensors");
  std::ofstream stream(path_, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TemporaryFile::~TemporaryFile() { std::remove(path_.c_str()); }

std::string DataPath(const std::string& name) {
  const char* folder = std::getenv("PAGED_TEST_DATA");
  return absl::StrCat(folder != nullptr ? folder : PAGED_SOURCE_DATA, "/",
                      name);
}

}  // namespace paged::testing
