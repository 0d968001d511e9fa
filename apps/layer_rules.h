// Rules for the tensors of a layer, which come from an untrusted file. Errors
// are InvalidArgument and name the tensor, the rule and what it has instead.
#ifndef PAGED_APPS_LAYER_RULES_H_
#define PAGED_APPS_LAYER_RULES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/layer.h"
#include "apps/safetensors.h"

namespace paged {

absl::Status TensorError(const std::string& name, const std::string& rule,
                         const std::string& value);

// `rank` extents that an int holds.
absl::Status CheckExtents(const std::string& name, const TensorView& tensor,
                          std::size_t rank);

absl::Status CheckShape(const std::string& name, const TensorView& tensor,
                        const std::vector<int64_t>& shape);

// Heads and dims of the layer of this name in the file, of which zero would
// make the sizes of the others meaningless.
absl::Status CheckDims(const std::string& name, const Layer& layer);

}  // namespace paged

#endif  // PAGED_APPS_LAYER_RULES_H_
