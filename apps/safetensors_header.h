// The JSON header of a safetensors file, as it stands there.
#ifndef PAGED_APPS_SAFETENSORS_HEADER_H_
#define PAGED_APPS_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paged {

struct HeaderEntry {
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> data_offsets;
};

// InvalidArgument when `json` is not one object of such entries, when a name
// or a field comes twice, and when a number is no unsigned 64-bit integer.
// Streams: memory is bounded by what a well-formed header of that length
// needs, and nesting by 8 levels.
absl::StatusOr<std::map<std::string, HeaderEntry>> ParseHeader(
    absl::string_view json);

}  // namespace paged

#endif  // PAGED_APPS_SAFETENSORS_HEADER_H_
