// Reads safetensors files, which are not trusted.
//
// A file is a u64 header length, little-endian; that many bytes of JSON, one
// object: tensor name to `dtype`, `shape` and `data_offsets` [begin, end),
// counted from the end of the header; then the tensors' raw little-endian
// bytes, row-major, one after another without gaps. `__metadata__` is ignored.
// Format: https://github.com/huggingface/safetensors
//
// Example:
//
//     absl::StatusOr<TensorFile> file = TensorFile::Read("model.safetensors");
//     const TensorView* query = file->Find("layer0.query");
#ifndef PAGED_APPS_SAFETENSORS_H_
#define PAGED_APPS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace paged {

// A tensor inside a file; valid as long as the file is.
struct TensorView {
  std::string dtype;           // "F16", "I32", ...
  std::vector<int64_t> shape;  // each at least 0
  int64_t num_elements = 0;
  const char* data = nullptr;  // not aligned
  std::size_t num_bytes = 0;
};

// "F16 [6, 9, 64]", for messages.
std::string Describe(const TensorView& tensor);

class TensorFile {
 public:
  // NotFound when there is no such file, InvalidArgument when it is not a
  // well-formed one: every rule of the format is checked, so that each view
  // lies inside the file and has the size that its dtype and shape imply.
  static absl::StatusOr<TensorFile> Read(const std::string& path);
  // The same, of bytes in memory.
  static absl::StatusOr<TensorFile> Parse(std::vector<char> bytes);

  // Moving keeps the views valid.
  TensorFile(TensorFile&&) = default;
  TensorFile& operator=(TensorFile&&) = default;
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;

  // Null when there is none of that name.
  const TensorView* Find(const std::string& name) const;
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }

 private:
  TensorFile() = default;
  std::vector<char> bytes_;
  std::map<std::string, TensorView> tensors_;
};

}  // namespace paged

#endif  // PAGED_APPS_SAFETENSORS_H_
