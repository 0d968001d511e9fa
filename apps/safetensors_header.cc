#include "apps/safetensors_header.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/flags.h"
#include "nlohmann/json.hpp"

namespace paged {
namespace {

constexpr int kMaxDepth = 8;  // __metadata__ needs 2, tensors 3

// Where the reader stands. Anything below `__metadata__` is skipped.
//
//   { "name": { "dtype": "F16", "shape": [1, 2], "data_offsets": [0, 4] } }
//   ^ kFile     ^ kTensor                ^ kNumbers
enum class Place { kStart, kFile, kTensor, kNumbers, kMetadata, kEnd };

// The events of nlohmann's parser. Returning false stops it.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Scalar("null"); }
  bool boolean(bool) override { return Scalar("a boolean"); }
  bool number_float(number_float_t, const string_t& text) override {
    return Scalar(absl::StrCat("the number ", Printable(text)));
  }
  bool number_integer(number_integer_t number) override {
    return Scalar(absl::StrCat("the number ", number));
  }
  bool binary(binary_t&) override { return Scalar("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ != Place::kNumbers) {
      return Scalar(absl::StrCat("the number ", number));
    }
    numbers_->push_back(number);
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::kTensor && field_ == "dtype") {
      entry_->dtype = text;
      return true;
    }
    return Scalar("a string");
  }

  bool start_object(std::size_t) override {
    if (++depth_ > kMaxDepth) return Fail("is nested too deeply");
    switch (place_) {
      case Place::kStart:
        place_ = Place::kFile;
        return true;
      case Place::kFile:
        place_ = is_metadata_ ? Place::kMetadata : Place::kTensor;
        return true;
      case Place::kMetadata:
        return true;
      default:
        return Scalar("an object");
    }
  }

  bool key(string_t& name) override {
    if (place_ == Place::kFile) return StartEntry(name);
    if (place_ != Place::kTensor) return true;
    field_ = name;
    const bool is_repeated =
        (name == "dtype" && entry_->dtype.has_value()) ||
        (name == "shape" && entry_->shape.has_value()) ||
        (name == "data_offsets" && entry_->data_offsets.has_value());
    if (is_repeated) {
      return Fail(absl::StrCat("has ", name, " twice in ", Subject()));
    }
    if (name != "dtype" && name != "shape" && name != "data_offsets") {
      return Fail(absl::StrCat("has a field ", Printable(name), " in ",
                               Subject(),
                               "; known are dtype, shape and data_offsets"));
    }
    return true;
  }

  bool end_object() override {
    --depth_;
    if (depth_ == 1) place_ = Place::kFile;
    if (depth_ == 0) place_ = Place::kEnd;
    return true;
  }

  bool start_array(std::size_t) override {
    if (++depth_ > kMaxDepth) return Fail("is nested too deeply");
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || field_ == "dtype") {
      return Scalar("an array");
    }
    numbers_ =
        &(field_ == "shape" ? entry_->shape : entry_->data_offsets).emplace();
    place_ = Place::kNumbers;
    return true;
  }

  bool end_array() override {
    --depth_;
    if (place_ == Place::kNumbers) place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return Fail(
        absl::StrCat("is not JSON: byte ", position, " of it is unexpected"));
  }

  const std::string& error() const { return error_; }
  std::map<std::string, HeaderEntry> TakeEntries() {
    return std::move(entries_);
  }

 private:
  bool StartEntry(const std::string& name) {
    name_ = name;
    is_metadata_ = name == "__metadata__";
    if (is_metadata_) {
      return has_metadata_ ? Fail("has __metadata__ twice")
                           : (has_metadata_ = true);
    }
    const auto [it, is_new] = entries_.try_emplace(name);
    entry_ = &it->second;
    return is_new || Fail(absl::StrCat("has ", Subject(), " twice"));
  }

  // A value that is legal below __metadata__ alone.
  bool Scalar(absl::string_view what) {
    if (place_ == Place::kMetadata) return true;
    switch (place_) {
      case Place::kTensor:
        return Fail(
            absl::StrCat("has ", what, " for ", field_, " of ", Subject()));
      case Place::kNumbers:
        return Fail(absl::StrCat("has ", what, " in ", field_, " of ",
                                 Subject(), "; unsigned integers are allowed"));
      case Place::kFile:
        return Fail(absl::StrCat("has ", what, " for ", Subject(),
                                 "; an object is needed"));
      default:
        return Fail(absl::StrCat("is ", what, ", not an object"));
    }
  }

  std::string Subject() const {
    return is_metadata_ ? name_ : absl::StrCat("tensor ", Printable(name_));
  }

  bool Fail(absl::string_view what) {
    if (error_.empty()) error_ = std::string(what);
    return false;
  }

  Place place_ = Place::kStart;
  int depth_ = 0;
  bool is_metadata_ = false;
  bool has_metadata_ = false;
  std::string name_;
  std::string field_;
  HeaderEntry* entry_ = nullptr;
  std::vector<uint64_t>* numbers_ = nullptr;
  std::map<std::string, HeaderEntry> entries_;
  std::string error_;
};

}  // namespace

absl::StatusOr<std::map<std::string, HeaderEntry>> ParseHeader(
    absl::string_view json) {
  // The parser would skip a byte order mark.
  if (json.empty() || json[0] != '{') {
    return absl::InvalidArgumentError("the header must begin with '{'");
  }
  HeaderReader reader;
  const bool is_read =
      nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  if (!is_read || !reader.error().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the header ",
        reader.error().empty() ? "is not JSON" : reader.error().c_str()));
  }
  return reader.TakeEntries();
}

}  // namespace paged
