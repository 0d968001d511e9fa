#include "benchmarks/record_file.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace paged::benchmarks {
namespace {

using Json = nlohmann::ordered_json;

// What a shell command prints; empty when it fails.
std::string OutputOf(const std::string& command) {
  std::FILE* pipe = popen(absl::StrCat(command, " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[256];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) text += buffer;
  const int status = pclose(pipe);
  absl::StripAsciiWhitespace(&text);
  return status == 0 ? text : "";
}

absl::StatusOr<Json> ReadRecord(const std::string& path) {
  std::ifstream stream(path);
  Json record = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object() || !record["benchmarks"].is_array() ||
      !record["context"].is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no record of Google Benchmark"));
  }
  for (const Json& row : record["benchmarks"]) {
    if (!row.is_object() || !row.contains("name")) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " has a row without a name"));
    }
  }
  return record;
}

bool IsOfSameKernels(const Json& a, const Json& b) {
  const auto get = [](const Json& record, const char* key) {
    return record["context"].value(key, Json());
  };
  return get(a, "kernels_core") == get(b, "kernels_core") &&
         get(a, "kernels_cuda") == get(b, "kernels_cuda");
}

// Google Benchmark's context names the host and where the program lay, and how
// the library itself was compiled: "debug" on Debian, whose package leaves
// NDEBUG undefined, and nothing about the code that is measured.
absl::Status WriteRecord(const std::string& path, Json record) {
  Json& context = record["context"];
  context.erase("host_name");
  context.erase("executable");
  context.erase("library_build_type");
  const std::string temporary = path + ".new";
  std::ofstream stream(temporary);
  stream << record.dump(2) << "\n";
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, path, error);
  if (!stream || error) {
    return absl::InvalidArgumentError(absl::StrCat(path, " cannot be written"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string TreeHash(const std::string& folder) {
  const std::string hash =
      OutputOf(absl::StrCat("git rev-parse HEAD:", folder));
  if (hash.empty()) return "unknown";
  // From the top of the checkout, as the folder is named from there.
  const std::string changes =
      OutputOf(absl::StrCat("git status --porcelain -- ':/", folder, "'"));
  return changes.empty() ? hash : absl::StrCat(hash, "-dirty");
}

std::string CommitHash() {
  const std::string hash = OutputOf("git rev-parse HEAD");
  if (hash.empty()) return "unknown";
  const std::string changes = OutputOf(
      "git status --porcelain --untracked-files=no -- "
      "':(top)' ':(top,exclude)benchmarks/results'");
  return changes.empty() ? hash : absl::StrCat(hash, "-dirty");
}

std::string ProcessorModel() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::string DriverVersion() {
  const std::string version = OutputOf(
      "nvidia-smi --query-gpu=driver_version --format=csv,noheader --id=0");
  return version.empty() ? "unknown" : version;
}

absl::Status MergeRecords(const std::string& into, const std::string& from) {
  absl::StatusOr<Json> added = ReadRecord(from);
  if (!added.ok()) return added.status();
  if (!std::filesystem::exists(into))
    return WriteRecord(into, *std::move(added));
  absl::StatusOr<Json> old = ReadRecord(into);
  if (!old.ok()) return old.status();
  if (!IsOfSameKernels(*old, *added))
    return WriteRecord(into, *std::move(added));

  Json& rows = (*old)["benchmarks"];
  for (const Json& row : (*added)["benchmarks"]) {
    bool is_new = true;
    for (Json& old_row : rows) {
      if (old_row["name"] != row["name"]) continue;
      old_row = row;
      is_new = false;
    }
    if (is_new) rows.push_back(row);
  }
  (*old)["context"] = (*added)["context"];
  return WriteRecord(into, *std::move(old));
}

}  // namespace paged::benchmarks
