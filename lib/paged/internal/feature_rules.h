// What a decode step may ask for beyond shapes, and what it takes.
#ifndef PAGED_LIB_PAGED_INTERNAL_FEATURE_RULES_H_
#define PAGED_LIB_PAGED_INTERNAL_FEATURE_RULES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "paged/args.h"
#include "paged/options.h"

namespace paged::internal {

// The kernels of the CPU, its reference and those of CUDA have every feature.
struct Feature {
  const char* field;    // of DecodeShape
  const char* meaning;  // as the README's matrix says it
  bool (*is_used)(const DecodeShape& shape);
  bool needs_general;  // kernels that mask and modify scores one by one
  bool in_thrust;
};

absl::Span<const Feature> AllFeatures();

// Whether the shape needs kernels that mask and modify scores.
bool NeedsGeneral(const DecodeShape& shape);

// Unimplemented names the first field of the shape that the variant thrust does
// not serve.
absl::Status CheckFeatures(const DecodeShape& shape, Variant variant);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_FEATURE_RULES_H_
