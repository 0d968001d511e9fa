// Rows of storage types as rows of float, and dispatch from a run-time
// ElementKind to the type.
#ifndef PAGED_KERNELS_CPU_ELEMENTS_H_
#define PAGED_KERNELS_CPU_ELEMENTS_H_

#include "kernels/core/dtype.h"

namespace paged {

// Calls `body` with a value of the storage type that `kind` names.
template <typename Body>
void WithElement(ElementKind kind, const Body& body) {
  switch (kind) {
    case ElementKind::kF16:
      return body(Half{});
    case ElementKind::kBF16:
      return body(BFloat16{});
    case ElementKind::kF32:
      return body(float{});
  }
}

template <typename Element>
void LoadRow(const Element* from, int dim, float* to) {
  for (int d = 0; d < dim; ++d) to[d] = ToFloat(from[d]);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_ELEMENTS_H_
