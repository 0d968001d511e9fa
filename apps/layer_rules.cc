#include "apps/layer_rules.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paged {
namespace {

// A tensor without elements may claim any extent in a file of a few bytes, but
// pools have the size that extents say. Models stay far below both: 128 heads
// of 576 dims are 73728 elements.
constexpr int kMaxHeadDim = 4096;
constexpr int64_t kMaxElementsPerToken = 131072;

absl::Status CheckElementsPerToken(const std::string& name,
                                   const TensorView& tensor, int num_heads,
                                   int dim) {
  if (int64_t{num_heads} * dim <= kMaxElementsPerToken) {
    return absl::OkStatus();
  }
  return TensorError(name,
                     absl::StrCat("have at most ", kMaxElementsPerToken,
                                  " elements per token, heads x dims"),
                     Describe(tensor));
}

}  // namespace

absl::Status TensorError(const std::string& name, const std::string& rule,
                         const std::string& value) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must ", rule, "; got ", value));
}

absl::Status CheckExtents(const std::string& name, const TensorView& tensor,
                          std::size_t rank) {
  const bool fits =
      tensor.shape.size() == rank &&
      std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t extent) {
        return extent <= std::numeric_limits<int32_t>::max();
      });
  if (fits) return absl::OkStatus();
  return TensorError(name,
                     absl::StrCat("have ", rank, " dimensions below 2^31 each"),
                     Describe(tensor));
}

absl::Status CheckShape(const std::string& name, const TensorView& tensor,
                        const std::vector<int64_t>& shape) {
  if (tensor.shape == shape) return absl::OkStatus();
  return TensorError(
      name, absl::StrCat("have shape [", absl::StrJoin(shape, ", "), "]"),
      Describe(tensor));
}

absl::Status CheckDims(const std::string& name, const Layer& layer) {
  if (layer.num_q_heads < 1 || layer.head_dim < 1) {
    return TensorError(name + ".query", "have heads and dims",
                       Describe(layer.query));
  }
  if (layer.num_kv_heads < 1 || layer.num_q_heads % layer.num_kv_heads != 0) {
    return TensorError(name + ".key",
                       absl::StrCat("have a number of heads that divides the ",
                                    layer.num_q_heads, " of query"),
                       Describe(layer.key));
  }
  if (layer.head_dim > kMaxHeadDim) {
    return TensorError(name + ".query",
                       absl::StrCat("have at most ", kMaxHeadDim, " dims"),
                       Describe(layer.query));
  }
  if (layer.value_dim != layer.head_dim) {
    return TensorError(name + ".value",
                       absl::StrCat("have query's ", layer.head_dim, " dims"),
                       Describe(layer.value));
  }
  // Keys and values have no more heads than the query.
  return CheckElementsPerToken(name + ".query", layer.query, layer.num_q_heads,
                               layer.head_dim);
}

}  // namespace paged
