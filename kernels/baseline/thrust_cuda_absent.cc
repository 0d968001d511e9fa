// The GPU's Thrust baseline in a build without CUDA.
#include <cstddef>

#include "kernels/baseline/thrust_decode.h"

namespace paged {

ThrustStatus RunThrustOnCuda(ElementKind, const DecodeParams&, void*,
                             std::size_t, CUstream_st*) {
  return ThrustStatus::kNotBuilt;
}

}  // namespace paged
