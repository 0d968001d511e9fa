// What `paged run` was asked to do.
#ifndef PAGED_APPS_RUN_FLAGS_H_
#define PAGED_APPS_RUN_FLAGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/decode_flags.h"
#include "apps/flags.h"
#include "apps/paged_layer.h"
#include "paged/options.h"

namespace paged {

struct RunRequest {
  std::string path;
  std::optional<std::string> layer;
  PagingOptions paging;
  BackendChoice backend = BackendChoice::kAuto;
  // One run per layer and entry.
  std::vector<DecodeOptions> runs;
  // --variant=all: what this machine cannot run is left out, and said.
  bool is_all = false;
  bool is_json = false;
};

FlagTable RunFlagTable();
absl::StatusOr<RunRequest> RunRequestFrom(const Flags& flags);

}  // namespace paged

#endif  // PAGED_APPS_RUN_FLAGS_H_
