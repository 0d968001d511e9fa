#include "kernels/cpu/merge_kernels.h"

#include <cstring>

#include "kernels/cpu/elements.h"

namespace paged {
namespace {

template <typename Element>
void MergeRow(const MergeParams& p, int64_t row) {
  const auto* first = static_cast<const Element*>(p.first_output) + row * p.dim;
  const auto* second =
      static_cast<const Element*>(p.second_output) + row * p.dim;
  auto* output = static_cast<Element*>(p.output) + row * p.dim;
  const MergeWeights weights =
      MergeWeightsOf(p.first_lse[row], p.second_lse[row]);
  const auto bytes = static_cast<std::size_t>(p.dim) * sizeof(Element);
  if (weights.first == 0.0f && weights.second == 1.0f) {
    std::memmove(output, second, bytes);
  } else if (weights.first == 1.0f && weights.second == 0.0f) {
    std::memmove(output, first, bytes);
  } else {
    for (int d = 0; d < p.dim; ++d) {
      output[d] = FromFloat<Element>(ToFloat(first[d]) * weights.first +
                                     ToFloat(second[d]) * weights.second);
    }
  }
  if (p.lse != nullptr) p.lse[row] = weights.lse;
}

}  // namespace

void RunMerge(ElementKind element, const MergeParams& params,
              ThreadPool& pool) {
  WithQueryElement(element, [&]<typename Element>(Element) {
    pool.ParallelFor(params.num_rows,
                     [&](int64_t row) { MergeRow<Element>(params, row); });
  });
}

}  // namespace paged
