// The flags that say which decode step is meant.
#ifndef PAGED_APPS_SHAPE_FLAGS_H_
#define PAGED_APPS_SHAPE_FLAGS_H_

#include "absl/status/statusor.h"
#include "apps/flags.h"
#include "benchmarks/shapes.h"
#include "paged/args.h"

namespace paged {

struct ShapeRequest {
  int num_seqs = 8;
  int context_len = 4096;  // of each sequence
  int num_q_heads = 32;
  int num_kv_heads = 8;
  int head_dim = 128;
  int block_size = 16;
  DType dtype = DType::kF16;
  friend bool operator==(const ShapeRequest&, const ShapeRequest&) = default;
};

// What is measured where nobody says otherwise: 8 q heads over 4 kv heads.
inline constexpr ShapeRequest kMeasuredShape = {
    .context_len = 1024, .num_q_heads = 8, .num_kv_heads = 4};

// --num_seqs to --dtype; the help names the defaults.
FlagTable ShapeFlagTable(const ShapeRequest& defaults);

// What was given, over the defaults. Batch and context may be 0.
absl::StatusOr<ShapeRequest> ShapeRequestFrom(const Flags& flags,
                                              ShapeRequest defaults);

// With a pool that is as large as needed.
DecodeShape DecodeShapeOf(const ShapeRequest& request);

// Keys and values, counted once per kv head.
int64_t KvBytesOf(const ShapeRequest& request);

// InvalidArgument for an empty batch, heads that do not divide and a dtype that
// is not measured.
absl::StatusOr<benchmarks::BenchShape> BenchShapeOf(
    const ShapeRequest& request);

}  // namespace paged

#endif  // PAGED_APPS_SHAPE_FLAGS_H_
