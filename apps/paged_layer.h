// A layer as the library reads it: paged into a pool, in a backend's memory.
#ifndef PAGED_APPS_PAGED_LAYER_H_
#define PAGED_APPS_PAGED_LAYER_H_

#include <optional>

#include "absl/status/statusor.h"
#include "apps/device_buffer.h"
#include "apps/layer.h"
#include "apps/reference.h"
#include "paged/args.h"
#include "paged/backend.h"
#include "paged/plan.h"

namespace paged {

struct PagingOptions {
  int block_size = 16;
  std::optional<float> scale;  // of the scores; 1 / sqrt(head_dim) without
};

// The shape of a layer's pool and table, which are yet to be made.
// ResourceExhausted where it needs too many blocks.
absl::StatusOr<DecodeShape> ShapeOfPaged(const Layer& layer,
                                         const PagingOptions& options);

class PagedLayer {
 public:
  // Deals shuffled blocks to the layer's sequences and copies its tokens into
  // them. The pool has more blocks than are needed, every slot without a token
  // is NaN, and the table's unused entries point far outside the pool, so that
  // a kernel that reads what it must not gives itself away. Errors of
  // BuildBlockTable, and ResourceExhausted.
  static absl::StatusOr<PagedLayer> Create(const Layer& layer, DeviceKind kind,
                                           const PagingOptions& options);

  struct Run {
    Answer answer;
    double time_us = 0;  // median, caches warm; 0 without tokens
  };
  // Runs a plan that was made of ShapeOfPaged for `backend`, into outputs that
  // hold NaN beforehand, then again for the time. Synchronises. Errors of
  // Backend.
  absl::StatusOr<Run> Execute(const DecodePlan& plan, Backend& backend);

 private:
  PagedLayer() = default;
  DecodeArgs Args() const;
  absl::StatusOr<Answer> ReadAnswer() const;

  DecodeShape shape_;
  int64_t total_tokens_ = 0;
  DeviceBuffer query_;
  DeviceBuffer keys_;
  DeviceBuffer values_;
  DeviceBuffer block_tables_;
  DeviceBuffer context_lens_;
  DeviceBuffer output_;
  DeviceBuffer lse_;
};

}  // namespace paged

#endif  // PAGED_APPS_PAGED_LAYER_H_
