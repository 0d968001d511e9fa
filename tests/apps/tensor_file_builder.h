// Makes safetensors files, right ones and wrong ones.
#ifndef PAGED_TESTS_APPS_TENSOR_FILE_BUILDER_H_
#define PAGED_TESTS_APPS_TENSOR_FILE_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace paged::testing {

// A file of this header, with its true length before it and `data` behind.
std::vector<char> FileOf(const std::string& header, const std::string& data);

class TensorFileBuilder {
 public:
  TensorFileBuilder& Add(const std::string& name, const std::string& dtype,
                         const std::vector<int64_t>& shape,
                         const std::string& bytes);

  template <typename Element>
  TensorFileBuilder& Add(const std::string& name, const std::string& dtype,
                         const std::vector<int64_t>& shape,
                         const std::vector<Element>& elements) {
    return Add(name, dtype, shape,
               std::string(reinterpret_cast<const char*>(elements.data()),
                           elements.size() * sizeof(Element)));
  }

  std::vector<char> Build() const;

 private:
  std::string entries_;
  std::string data_;
};

// How SmallLayer differs from plain float32 layers.
struct SmallLayerOptions {
  std::string layer = "layer0";
  std::vector<int32_t> context_lens = {1, 5, 33};
  int num_q_heads = 4;
  int num_kv_heads = 2;
  int head_dim = 8;
  std::string dtype = "F32";  // or "F16", "BF16"
  float poison_value = 0.0f;  // added to the last element of value
};

// context_lens, query, key and value of reproducible values.
TensorFileBuilder SmallLayer(const SmallLayerOptions& options);

// A file in the tests' temporary directory, removed by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<char>& bytes);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The path of a file in tests/data.
std::string DataPath(const std::string& name);

}  // namespace paged::testing

#endif  // PAGED_TESTS_APPS_TENSOR_FILE_BUILDER_H_
