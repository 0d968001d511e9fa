#include "apps/row_file.h"

#include <filesystem>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "apps/flags.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

absl::StatusOr<std::string> ReadText(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    return absl::NotFoundError(
        absl::StrCat(Printable(path), " cannot be read"));
  }
  return text.str();
}

absl::StatusOr<std::vector<BenchRow>> ParseFile(const std::string& path,
                                                const std::string& text) {
  absl::StatusOr<std::vector<BenchRow>> rows = ParseCsv(text);
  if (rows.ok()) return rows;
  return absl::InvalidArgumentError(
      absl::StrCat(Printable(path), ": ", rows.status().message()));
}

}  // namespace

absl::StatusOr<std::vector<BenchRow>> ReadRows(const std::string& path) {
  PAGED_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return ParseFile(path, text);
}

absl::StatusOr<RowFile> RowFile::Open(const std::string& path,
                                      ExistingRows existing) {
  RowFile file;
  file.path_ = path;
  std::error_code error;
  const bool is_there = std::filesystem::file_size(path, error) > 0 && !error;
  if (is_there && existing == ExistingRows::kRefuse) {
    return absl::InvalidArgumentError(absl::StrCat(
        Printable(path),
        " is there already; --resume adds what it lacks, --overwrite starts "
        "anew"));
  }
  const bool is_kept = is_there && existing == ExistingRows::kKeep;
  if (is_kept) {
    PAGED_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
    PAGED_ASSIGN_OR_RETURN(const std::vector<BenchRow> rows,
                           ParseFile(path, text));
    for (const BenchRow& row : rows) file.keys_.insert(KeyOf(row));
    // Half a line, which a killed program left, goes.
    std::filesystem::resize_file(path, text.rfind('\n') + 1, error);
  }
  file.stream_.open(path, is_kept ? std::ios::app : std::ios::trunc);
  if (!is_kept) file.stream_ << CsvHeader();
  file.stream_.flush();
  if (!file.stream_ || (is_kept && error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Printable(path), " cannot be written"));
  }
  return file;
}

absl::Status RowFile::Add(const std::vector<BenchRow>& rows) {
  std::string lines;
  for (const BenchRow& row : rows) {
    if (keys_.insert(KeyOf(row)).second) lines += CsvLine(row);
  }
  stream_.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  stream_.flush();
  if (stream_) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(Printable(path_), " cannot be written"));
}

}  // namespace paged
