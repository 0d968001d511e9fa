#include "apps/mask_flags.h"

#include <limits>
#include <optional>

#include "paged/internal/status_macros.h"

namespace paged {
namespace {

struct MaskFlag {
  const char* name;
  const char* help;
  int DecodeShape::*field;
};
constexpr MaskFlag kMaskFlags[] = {
    {"window", "tokens of a sliding window, 0 for all (0)",
     &DecodeShape::window},
    {"attention_chunk", "tokens of an attention chunk, 0 for all (0)",
     &DecodeShape::attention_chunk},
    {"sink_tokens", "first tokens, visible despite both (0)",
     &DecodeShape::sink_tokens},
};

}  // namespace

FlagTable MaskFlagTable() {
  FlagTable table;
  for (const MaskFlag& flag : kMaskFlags) {
    table.push_back({flag.name, "N", flag.help});
  }
  return table;
}

absl::Status ReadMaskFlags(const Flags& flags, DecodeShape& shape) {
  for (const MaskFlag& flag : kMaskFlags) {
    PAGED_ASSIGN_OR_RETURN(
        const std::optional<int> given,
        flags.Int(flag.name,
                  {.min = 0, .max = std::numeric_limits<int>::max()}));
    shape.*flag.field = given.value_or(0);
  }
  return absl::OkStatus();
}

}  // namespace paged
