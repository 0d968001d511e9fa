#include "paged/block_events.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace paged {
namespace {

std::string HexOf(const BlockDigest& digest) {
  std::string text;
  for (const uint64_t word : digest.words) {
    absl::StrAppendFormat(&text, "%016x", word);
  }
  return text;
}

// The line without its event's name.
std::string FieldsOf(const BlockEvent& e) {
  const auto row = [&e] { return absl::StrCat(",\"row\":", e.slot); };
  const auto block = [&e] { return absl::StrCat(",\"block\":", e.block); };
  const auto digest = [&e] {
    return absl::StrCat(",\"digest\":\"", HexOf(e.digest), "\"");
  };
  switch (e.kind) {
    case BlockEventKind::kStored:
      return absl::StrCat(row(), block(), digest());
    case BlockEventKind::kEvicted:
      return absl::StrCat(block(), digest());
    case BlockEventKind::kForked:
      return absl::StrCat(row(), ",\"from\":", e.block);
    case BlockEventKind::kCopied:
      return absl::StrCat(row(), block(), ",\"to\":", e.other);
    case BlockEventKind::kCleared:
      break;
    case BlockEventKind::kOpened:
      return absl::StrCat(row(), ",\"looked_for\":", e.block,
                          ",\"found\":", e.other);
    case BlockEventKind::kTaken:
    case BlockEventKind::kRemoved:
      return absl::StrCat(row(), block());
    case BlockEventKind::kClosed:
      return row();
    case BlockEventKind::kLength:
      return absl::StrCat(row(), ",\"tokens\":", e.number);
    case BlockEventKind::kStep:
      return absl::StrCat(",\"id\":", e.number);
  }
  return "";
}

const char* NameOf(BlockEventKind kind) {
  switch (kind) {
    case BlockEventKind::kStored:
      return "stored";
    case BlockEventKind::kEvicted:
      return "evicted";
    case BlockEventKind::kForked:
      return "forked";
    case BlockEventKind::kCopied:
      return "copied";
    case BlockEventKind::kCleared:
      return "cleared";
    case BlockEventKind::kOpened:
      return "opened";
    case BlockEventKind::kTaken:
      return "taken";
    case BlockEventKind::kRemoved:
      return "removed";
    case BlockEventKind::kClosed:
      return "closed";
    case BlockEventKind::kLength:
      return "length";
    case BlockEventKind::kStep:
      break;
  }
  return "step";
}

}  // namespace

std::string PoolLine(const BlockManagerOptions& options) {
  return absl::StrCat("{\"event\":\"pool\",\"blocks\":", options.num_blocks,
                      ",\"block_size\":", options.block_size,
                      ",\"rows\":", options.max_seqs, "}\n");
}

std::string EventLine(const BlockEvent& event) {
  return absl::StrCat("{\"event\":\"", NameOf(event.kind), "\"",
                      FieldsOf(event), "}\n");
}

}  // namespace paged
