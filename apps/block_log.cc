#include "apps/block_log.h"

#include <limits>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "apps/flags.h"
#include "nlohmann/json.hpp"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

using Json = nlohmann::json;

struct Form {
  BlockEventKind kind;
  const char* block = nullptr;  // the fields' names; null: it has none
  const char* other = nullptr;
  const char* number = nullptr;
  bool has_row = true;
  bool has_digest = false;
};

const std::map<std::string, Form>& Forms() {
  static const auto* const forms = new std::map<std::string, Form>{
      {"stored",
       {.kind = BlockEventKind::kStored, .block = "block", .has_digest = true}},
      {"evicted",
       {.kind = BlockEventKind::kEvicted,
        .block = "block",
        .has_row = false,
        .has_digest = true}},
      {"forked", {.kind = BlockEventKind::kForked, .block = "from"}},
      {"copied",
       {.kind = BlockEventKind::kCopied, .block = "block", .other = "to"}},
      {"cleared", {.kind = BlockEventKind::kCleared, .has_row = false}},
      {"opened",
       {.kind = BlockEventKind::kOpened,
        .block = "looked_for",
        .other = "found"}},
      {"taken", {.kind = BlockEventKind::kTaken, .block = "block"}},
      {"removed", {.kind = BlockEventKind::kRemoved, .block = "block"}},
      {"closed", {.kind = BlockEventKind::kClosed}},
      {"length", {.kind = BlockEventKind::kLength, .number = "tokens"}},
      {"step",
       {.kind = BlockEventKind::kStep, .number = "id", .has_row = false}}};
  return *forms;
}

absl::StatusOr<int64_t> NumberOf(const Json& object, const char* field,
                                 int64_t least, int64_t most) {
  const auto found = object.find(field);
  if (found != object.end() && found->is_number_integer() && *found >= least &&
      *found <= most) {
    return found->get<int64_t>();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      field, " must be an integer from ", least, " to ", most, "; got ",
      found == object.end() ? "nothing" : Printable(found->dump())));
}

absl::StatusOr<Json> ObjectOf(const std::string& line) {
  Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_object() && object["event"].is_string()) return object;
  return absl::InvalidArgumentError(absl::StrCat(
      "an object with an \"event\" is needed; got ", Printable(line)));
}

absl::StatusOr<BlockDigest> DigestOf(const Json& object) {
  const auto found = object.find("digest");
  BlockDigest digest;
  std::string got = "nothing";
  constexpr std::size_t kDigits = 16;
  if (found != object.end() && found->is_string()) {
    const auto text = found->get<std::string>();
    bool is_hex = text.size() == kDigits * std::size(digest.words);
    for (std::size_t i = 0; is_hex && i < std::size(digest.words); ++i) {
      is_hex = absl::SimpleHexAtoi(text.substr(i * kDigits, kDigits),
                                   &digest.words[i]);
    }
    if (is_hex) return digest;
    got = Printable(text);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("digest must be 64 hexadecimal digits; got ", got));
}

}  // namespace

absl::StatusOr<LogPool> ParsePoolLine(const std::string& line) {
  PAGED_ASSIGN_OR_RETURN(const Json object, ObjectOf(line));
  if (object["event"] != "pool") {
    return absl::InvalidArgumentError(
        absl::StrCat("a log begins with the event pool; got ",
                     Printable(object["event"].get<std::string>())));
  }
  LogPool pool;
  PAGED_ASSIGN_OR_RETURN(pool.num_blocks,
                         NumberOf(object, "blocks", 2, kMaxLogBlocks));
  PAGED_ASSIGN_OR_RETURN(const int64_t block_size,
                         NumberOf(object, "block_size", 1, 1 << 20));
  PAGED_ASSIGN_OR_RETURN(const int64_t rows,
                         NumberOf(object, "rows", 1, kMaxLogRows));
  pool.block_size = static_cast<int>(block_size);
  pool.num_rows = static_cast<int>(rows);
  return pool;
}

absl::StatusOr<BlockEvent> ParseEventLine(const std::string& line) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  PAGED_ASSIGN_OR_RETURN(const Json object, ObjectOf(line));
  const auto form = Forms().find(object["event"].get<std::string>());
  if (form == Forms().end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown event ", Printable(object["event"].get<std::string>())));
  }
  const Form& fields = form->second;
  BlockEvent event{.kind = fields.kind};
  if (fields.has_row) {
    PAGED_ASSIGN_OR_RETURN(const int64_t row,
                           NumberOf(object, "row", 0, kMaxLogRows - 1));
    event.slot = static_cast<uint32_t>(row);
  }
  if (fields.block != nullptr) {
    PAGED_ASSIGN_OR_RETURN(const int64_t block,
                           NumberOf(object, fields.block, 0, kMost));
    event.block = static_cast<int32_t>(block);
  }
  if (fields.other != nullptr) {
    PAGED_ASSIGN_OR_RETURN(const int64_t other,
                           NumberOf(object, fields.other, 0, kMost));
    event.other = static_cast<int32_t>(other);
  }
  if (fields.number != nullptr) {
    PAGED_ASSIGN_OR_RETURN(event.number,
                           NumberOf(object, fields.number, 0,
                                    std::numeric_limits<int64_t>::max()));
  }
  if (fields.has_digest) {
    PAGED_ASSIGN_OR_RETURN(event.digest, DigestOf(object));
  }
  return event;
}

absl::Status ReadBlockLog(
    std::istream& in, const std::function<absl::Status(const LogPool&)>& pool,
    const std::function<absl::Status(const BlockEvent&)>& event) {
  const auto handle = [&](const std::string& line,
                          bool is_first) -> absl::Status {
    if (is_first) {
      PAGED_ASSIGN_OR_RETURN(const LogPool parsed, ParsePoolLine(line));
      return pool(parsed);
    }
    PAGED_ASSIGN_OR_RETURN(const BlockEvent parsed, ParseEventLine(line));
    return event(parsed);
  };
  bool is_first = true;
  int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const absl::Status status = handle(line, is_first);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", status.message()));
    }
    is_first = false;
  }
  if (is_first) return absl::InvalidArgumentError("the log is empty");
  return absl::OkStatus();
}

}  // namespace paged
