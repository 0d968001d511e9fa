// --lens: the lengths of a ragged batch, and the schedule that is made of them.
#ifndef PAGED_APPS_LENS_FLAG_H_
#define PAGED_APPS_LENS_FLAG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "paged/args.h"
#include "paged/plan.h"

namespace paged {

// "131072,63x1024": one long sequence and 63 short ones. InvalidArgument for
// anything but lengths and counts of at least 1, and more than 65,536
// sequences.
absl::StatusOr<std::vector<int32_t>> ParseLens(absl::string_view text);

// Makes a shape's batch the ragged one of these lengths.
void SetLens(absl::Span<const int32_t> lens, DecodeShape& shape);

// The schedule of a plan whose partition is chunks, a line for neighbouring
// chunks of one size; why there is none for another plan.
absl::StatusOr<std::string> ScheduleText(const DecodePlan& plan,
                                         absl::Span<const int32_t> lens);

}  // namespace paged

#endif  // PAGED_APPS_LENS_FLAG_H_
