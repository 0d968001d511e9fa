#include "paged/copy_blocks.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "paged/internal/block_set.h"
#include "paged/internal/rules.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

using internal::Axis;
using internal::CheckAtLeast;
using internal::CheckRange;

absl::Status CheckShape(const CopyBlocksArgs& a) {
  PAGED_RETURN_IF_ERROR(CheckAtLeast("num_kv_heads", a.num_kv_heads, 1));
  PAGED_RETURN_IF_ERROR(
      CheckRange("head_dim", a.head_dim, 1, internal::kMaxHeadDim));
  PAGED_RETURN_IF_ERROR(
      CheckRange("block_size", a.block_size, 1, internal::kMaxBlockSize));
  PAGED_RETURN_IF_ERROR(CheckRange("num_blocks", a.num_blocks, 0,
                                   std::numeric_limits<int32_t>::max()));
  PAGED_RETURN_IF_ERROR(internal::CheckDType("dtype", a.dtype));
  const Axis axes[] = {{"block_stride", a.num_blocks, a.strides.block_stride},
                       {"slot_stride", a.block_size, a.strides.slot_stride},
                       {"head_stride", a.num_kv_heads, a.strides.head_stride}};
  return internal::CheckAxes("strides", axes, a.head_dim,
                             internal::Overlap::kRefused);
}

// A Status for each block would be half of what thousands of copies cost here,
// while the GPU waits (4096: 33 us, not 17): one is made where a rule is
// broken.
absl::Status CheckCopies(const CopyBlocksArgs& a) {
  internal::BlockSet destinations(a.num_blocks, a.copies.size());
  const int64_t last = a.num_blocks - 1;
  for (const BlockCopy& copy : a.copies) {
    if (std::min(copy.source, copy.destination) < 0 ||
        std::max(copy.source, copy.destination) > last) {
      PAGED_RETURN_IF_ERROR(CheckRange("copies.source", copy.source, 0, last));
      return CheckRange("copies.destination", copy.destination, 0, last);
    }
    if (!destinations.Insert(copy.destination)) {
      return absl::InvalidArgumentError(
          absl::StrCat("copies must name a destination once; got block ",
                       copy.destination, " twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CopyBlocksArgs> ValidateCopy(const CopyBlocksArgs& args) {
  CopyBlocksArgs a = args;
  if (a.strides == KvStrides{}) {
    const int64_t slot_stride = int64_t{a.num_kv_heads} * a.head_dim;
    a.strides = {a.block_size * slot_stride, slot_stride, a.head_dim};
  }
  PAGED_RETURN_IF_ERROR(CheckShape(a));
  if (a.copies.empty()) return a;
  for (void* cache : a.caches) {
    PAGED_RETURN_IF_ERROR(internal::CheckNotNull("caches", cache));
  }
  PAGED_RETURN_IF_ERROR(CheckCopies(a));
  return a;
}

}  // namespace paged
