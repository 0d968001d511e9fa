#include "kernels/baseline/thrust_workspace.h"

#include <cstddef>

#include "kernels/baseline/thrust_decode.h"

namespace paged {
namespace {

// Thrust 3.0 on the CPU takes no scratch here, and CUB 3.0's segmented
// reduction one byte per call; the rest is for other releases.
constexpr std::size_t kScratchBytes = 16 * 1024;

std::size_t SizeOf(int count) {
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

}  // namespace

namespace internal {

ThrustSizes ThrustSizesOf(ElementKind element, const DecodeParams& params) {
  const std::size_t tokens =
      SizeOf(params.num_seqs) * SizeOf(params.max_context_len);
  const std::size_t cache_rows = tokens * SizeOf(params.num_kv_heads);
  const std::size_t element_bytes = SizeOf(BytesOf(element));
  const std::size_t heads_times_rows =
      SizeOf(params.num_kv_heads) * SizeOf(NumRows(params));
  return {
      .key_bytes = cache_rows * SizeOf(params.key_dim) * element_bytes,
      .value_bytes = cache_rows * SizeOf(params.value_dim) * element_bytes,
      .score_bytes = tokens * heads_times_rows * sizeof(float),
      .row_bytes = SizeOf(params.num_seqs) * heads_times_rows * sizeof(float)};
}

}  // namespace internal

std::size_t ThrustWorkspaceBytes(ElementKind element,
                                 const DecodeParams& params) {
  using internal::AlignedBytes;
  const internal::ThrustSizes sizes = internal::ThrustSizesOf(element, params);
  return AlignedBytes(sizes.key_bytes) + AlignedBytes(sizes.value_bytes) +
         AlignedBytes(sizes.score_bytes) + 2 * AlignedBytes(sizes.row_bytes) +
         kScratchBytes;
}

}  // namespace paged
