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
    case ElementKind::kE4M3:
      return body(Fp8E4M3{});
    case ElementKind::kE5M2:
      return body(Fp8E5M2{});
    case ElementKind::kInt8:
      return body(Int8{});
  }
}

// The same, of what queries and outputs are stored as.
template <typename Body>
void WithQueryElement(ElementKind kind, const Body& body) {
  if (kind == ElementKind::kF16) return body(Half{});
  if (kind == ElementKind::kBF16) return body(BFloat16{});
  return body(float{});
}

template <typename Element>
void LoadRow(const Element* from, int dim, float* to) {
  for (int d = 0; d < dim; ++d) to[d] = ToFloat(from[d]);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_ELEMENTS_H_
