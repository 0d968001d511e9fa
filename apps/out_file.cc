#include "apps/out_file.h"

#include <filesystem>
#include <fstream>
#include <ios>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "apps/flags.h"

namespace paged {

absl::Status CheckWritable(const std::string& flag, const std::string& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  std::ofstream stream(path, std::ios::app);
  if (!stream) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " must be a file that can be written; got ",
                     Printable(path)));
  }
  stream.close();
  if (!is_there) std::filesystem::remove(path, error);
  return absl::OkStatus();
}

absl::Status WriteOutFile(const std::string& path, const std::string& text) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (stream) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(Printable(path), " cannot be written"));
}

}  // namespace paged
