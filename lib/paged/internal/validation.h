// The parts of Validate that a run needs of a shape that was validated before.
#ifndef PAGED_LIB_PAGED_INTERNAL_VALIDATION_H_
#define PAGED_LIB_PAGED_INTERNAL_VALIDATION_H_

#include "absl/status/status.h"
#include "paged/args.h"

namespace paged::internal {

// The shape with its defaults filled in; of any shape, legal or not.
DecodeShape WithDefaults(DecodeShape shape);

// Whether every pointer is there that a decode of the shape reads or writes,
// and no other. `shape` has its defaults.
absl::Status CheckPresence(const DecodeArgs& args, const DecodeShape& shape);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_VALIDATION_H_
