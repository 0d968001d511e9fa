// The flags that say which tokens a query token sees.
#ifndef PAGED_APPS_MASK_FLAGS_H_
#define PAGED_APPS_MASK_FLAGS_H_

#include "absl/status/status.h"
#include "apps/flags.h"
#include "paged/args.h"

namespace paged {

// --window, --attention_chunk and --sink_tokens.
FlagTable MaskFlagTable();

// Sets the fields of those names, 0 where nothing was given.
absl::Status ReadMaskFlags(const Flags& flags, DecodeShape& shape);

}  // namespace paged

#endif  // PAGED_APPS_MASK_FLAGS_H_
