// The rules that shapes share. On success none of them allocates.
#ifndef PAGED_LIB_PAGED_INTERNAL_RULES_H_
#define PAGED_LIB_PAGED_INTERNAL_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "paged/args.h"
#include "paged/dtype.h"

namespace paged::internal {

// Tokens of a block: what the kernels are tested with.
inline constexpr int kMaxBlockSize = 1024;
// Beyond every model (DeepSeek's latent keys have 576), and small enough that
// no product of a plan leaves 64 bits.
inline constexpr int kMaxHeadDim = 4096;
// Query tokens of a sequence: what the masks of a tree have bits for.
inline constexpr int kMaxQLen = 32;
// Elements that a tensor may span: offsets in bytes stay within int64.
inline constexpr int64_t kMaxExtent = int64_t{1} << 60;

// "field must be least to most; got value".
absl::Status CheckRange(const char* field, int64_t value, int64_t least,
                        int64_t most);
// "field must be at least least; got value".
absl::Status CheckAtLeast(const char* field, int64_t value, int64_t least);
// "field must be a DType of dtype.h; got DType(value)".
absl::Status CheckDType(const char* field, DType dtype);
// "field must be fp16, bf16 or fp32; got name".
absl::Status CheckQueryDType(const char* field, DType dtype);
// "field must not be null".
absl::Status CheckNotNull(const char* field, const void* pointer);
// A tensor is there if and only if `flag` says so: "field must not be null", or
// "field must be null without flag".
absl::Status CheckOptional(const char* field, const char* flag, bool is_there,
                           const void* pointer);

// The factor of a cache's codes, how many scales there are beside it, and
// strides, which only scales of each token have.
absl::Status CheckScale(const char* field, float scale,
                        const char* granularity_field,
                        ScaleGranularity granularity, const char* strides_field,
                        const KvStrides& strides);

// One dimension of a tensor of vectors: `extent` of them, `stride` elements
// apart.
struct Axis {
  const char* name;
  int64_t extent;
  int64_t stride;
};

// What a caller may do with vectors that share elements.
enum class Overlap : uint8_t { kAllowed, kRefused };

// Checks a tensor of vectors of `dim` elements: no stride is negative, an axis
// of several vectors does not make its neighbours overlap, and the whole spans
// at most kMaxExtent. With Overlap::kRefused no two vectors of the tensor
// overlap; a layout is then nested axis in axis, in any order.
absl::Status CheckAxes(const char* tensor, absl::Span<const Axis> axes, int dim,
                       Overlap overlap);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_RULES_H_
