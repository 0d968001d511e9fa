// Rows of storage types as rows of float.
#ifndef PAGED_KERNELS_CPU_ELEMENTS_H_
#define PAGED_KERNELS_CPU_ELEMENTS_H_

#include "kernels/core/dtype.h"

namespace paged {

template <typename Element>
void LoadRow(const Element* from, int dim, float* to) {
  for (int d = 0; d < dim; ++d) to[d] = ToFloat(from[d]);
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_ELEMENTS_H_
