#include "apps/safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "apps/flags.h"
#include "apps/safetensors_header.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr std::size_t kLengthBytes = 8;
// The format's own limit.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct DtypeSize {
  const char* name;
  uint64_t bytes;
};
constexpr DtypeSize kDtypes[] = {
    {"F64", 8},     {"F32", 4},     {"F16", 2},  {"BF16", 2}, {"I64", 8},
    {"I32", 4},     {"I16", 2},     {"I8", 1},   {"U64", 8},  {"U32", 4},
    {"U16", 2},     {"U8", 1},      {"BOOL", 1}, {"C64", 8},  {"F8_E4M3", 1},
    {"F8_E5M2", 1}, {"F8_E8M0", 1},
};

std::optional<uint64_t> BytesOfDtype(const std::string& name) {
  for (const DtypeSize& dtype : kDtypes) {
    if (name == dtype.name) return dtype.bytes;
  }
  return std::nullopt;
}

absl::Status BadTensor(const std::string& name, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("tensor ", Printable(name), " ", what));
}

// Where a tensor's bytes lie, counted from the end of the header.
struct DataRange {
  uint64_t begin;
  uint64_t end;
  std::string name;
};

// Checks one entry by itself, against `data_bytes` bytes behind the header.
absl::StatusOr<TensorView> CheckEntry(const std::string& name,
                                      const HeaderEntry& entry,
                                      uint64_t data_bytes) {
  if (!entry.dtype || !entry.shape || !entry.data_offsets) {
    return BadTensor(name, "must have dtype, shape and data_offsets");
  }
  const std::optional<uint64_t> element_bytes = BytesOfDtype(*entry.dtype);
  if (!element_bytes.has_value()) {
    return BadTensor(name, absl::StrCat("must have a known dtype; got ",
                                        Printable(*entry.dtype)));
  }
  TensorView view;
  view.dtype = *entry.dtype;
  uint64_t num_elements = 1;
  uint64_t num_bytes = 0;
  for (uint64_t extent : *entry.shape) {
    if (__builtin_mul_overflow(num_elements, extent, &num_elements) ||
        extent > std::numeric_limits<int64_t>::max()) {
      return BadTensor(name, "has a shape whose product overflows");
    }
    view.shape.push_back(static_cast<int64_t>(extent));
  }
  if (__builtin_mul_overflow(num_elements, *element_bytes, &num_bytes) ||
      num_elements > std::numeric_limits<int64_t>::max()) {
    return BadTensor(name, "has a shape whose product overflows");
  }
  const std::vector<uint64_t>& offsets = *entry.data_offsets;
  if (offsets.size() != 2) {
    return BadTensor(
        name, absl::StrCat("must have two data_offsets; got ", offsets.size()));
  }
  if (offsets[0] > offsets[1] || offsets[1] > data_bytes) {
    return BadTensor(
        name, absl::StrCat("must lie within the file's ", data_bytes,
                           " bytes of data; got data_offsets ", offsets[0],
                           " and ", offsets[1]));
  }
  if (offsets[1] - offsets[0] != num_bytes) {
    return BadTensor(name,
                     absl::StrCat("must have ", num_bytes,
                                  " bytes, as its dtype and shape say; got ",
                                  offsets[1] - offsets[0]));
  }
  view.num_elements = static_cast<int64_t>(num_elements);
  view.num_bytes = num_bytes;
  return view;
}

// The ranges must follow one another and cover all the data.
absl::Status CheckCoverage(std::vector<DataRange> ranges, uint64_t data_bytes) {
  std::sort(ranges.begin(), ranges.end(),
            [](const DataRange& a, const DataRange& b) {
              return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
            });
  uint64_t expected = 0;
  for (const DataRange& range : ranges) {
    if (range.begin != expected) {
      return BadTensor(
          range.name,
          absl::StrCat("must begin at byte ", expected,
                       " of the data, where the one before it ends; got ",
                       range.begin));
    }
    expected = range.end;
  }
  if (expected != data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tensors must fill the file's ", data_bytes,
                     " bytes of data; they end at ", expected));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> FindHeader(const std::vector<char>& bytes) {
  if (bytes.size() < kLengthBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a safetensors file has 8 bytes at least; got ", bytes.size()));
  }
  uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  const uint64_t available = bytes.size() - kLengthBytes;
  if (length < 2 || length > std::min(available, kMaxHeaderBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the header length must be from 2 to ",
        std::min(available, kMaxHeaderBytes), " here; got ", length));
  }
  return absl::string_view(bytes.data() + kLengthBytes, length);
}

}  // namespace

std::string Describe(const TensorView& tensor) {
  return absl::StrCat(tensor.dtype, " [", absl::StrJoin(tensor.shape, ", "),
                      "]");
}

absl::StatusOr<TensorFile> TensorFile::Parse(std::vector<char> bytes) {
  PAGED_ASSIGN_OR_RETURN(const absl::string_view header, FindHeader(bytes));
  const std::size_t data_offset = kLengthBytes + header.size();
  const uint64_t data_bytes = bytes.size() - data_offset;
  PAGED_ASSIGN_OR_RETURN(const auto entries, ParseHeader(header));

  TensorFile file;
  std::vector<DataRange> ranges;
  for (const auto& [name, entry] : entries) {
    PAGED_ASSIGN_OR_RETURN(TensorView view,
                           CheckEntry(name, entry, data_bytes));
    const uint64_t begin = (*entry.data_offsets)[0];
    ranges.push_back({begin, begin + view.num_bytes, name});
    view.data = bytes.data() + data_offset + begin;
    file.tensors_.emplace(name, std::move(view));
  }
  PAGED_RETURN_IF_ERROR(CheckCoverage(std::move(ranges), data_bytes));
  file.bytes_ = std::move(bytes);
  return file;
}

absl::StatusOr<TensorFile> TensorFile::Read(const std::string& path) {
  const std::string shown = Printable(path);
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return absl::NotFoundError(absl::StrCat("no such file: ", shown));
  }
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(absl::StrCat("not a file: ", shown));
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", shown));
  }
  std::vector<char> bytes(size);
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<uintmax_t>(stream.gcount()) != size) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", shown));
  }
  absl::StatusOr<TensorFile> file = Parse(std::move(bytes));
  if (!file.ok()) {
    return absl::Status(file.status().code(),
                        absl::StrCat(shown, ": ", file.status().message()));
  }
  return file;
}

const TensorView* TensorFile::Find(const std::string& name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

}  // namespace paged
