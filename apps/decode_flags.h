// The flags that run and explain share: what a user may force.
#ifndef PAGED_APPS_DECODE_FLAGS_H_
#define PAGED_APPS_DECODE_FLAGS_H_

#include "absl/status/statusor.h"
#include "apps/flags.h"
#include "paged/options.h"

namespace paged {

// --splits, --reduction, --head_packing and --batch_invariance.
FlagTable DecodeFlagTable();

// What was given; the rest is left to the environment. Reads --variant as
// well, unless it is "all".
absl::StatusOr<DecodeOptions> DecodeOptionsFrom(const Flags& flags);

// ResolveOptions of what DecodeOptionsFrom returned, with errors that name
// flags where it names fields.
absl::StatusOr<DecodeOptions> ResolveFlags(const DecodeOptions& options);

enum class BackendChoice { kAuto, kCpu, kCuda };

// --backend, and what it says.
FlagSpec BackendFlag();
absl::StatusOr<BackendChoice> BackendFrom(const Flags& flags);

// What becomes of a choice other than the CPU when MakeCudaBackend says
// `error`: Unavailable when CUDA was demanded, else OK, with a note when
// somebody may wonder.
absl::Status NoCuda(BackendChoice choice, const absl::Status& error,
                    std::string& note);

inline constexpr IntRange kBlockSizeRange = {.min = 1, .max = 1024};

}  // namespace paged

#endif  // PAGED_APPS_DECODE_FLAGS_H_
