#include "paged/merge_results.h"

#include <algorithm>

#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"

namespace paged {

absl::Status ValidateMerge(const MergeArgs& a) {
  using internal::CheckNotNull;
  PAGED_RETURN_IF_ERROR(
      internal::CheckRange("dim", a.dim, 1, internal::kMaxHeadDim));
  PAGED_RETURN_IF_ERROR(internal::CheckRange("num_rows", a.num_rows, 0,
                                             internal::kMaxExtent / a.dim));
  PAGED_RETURN_IF_ERROR(internal::CheckQueryDType("dtype", a.dtype));
  if (a.num_rows == 0) return absl::OkStatus();
  PAGED_RETURN_IF_ERROR(CheckNotNull("first_output", a.first_output));
  PAGED_RETURN_IF_ERROR(CheckNotNull("first_lse", a.first_lse));
  PAGED_RETURN_IF_ERROR(CheckNotNull("second_output", a.second_output));
  PAGED_RETURN_IF_ERROR(CheckNotNull("second_lse", a.second_lse));
  return CheckNotNull("output", a.output);
}

}  // namespace paged
