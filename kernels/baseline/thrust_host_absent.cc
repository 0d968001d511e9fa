// The host's Thrust baseline in a build that found no Thrust headers.
#include <cstddef>

#include "kernels/baseline/thrust_decode.h"

namespace paged {

bool HasThrustOnHost() { return false; }

ThrustStatus RunThrustOnHost(ElementKind, const DecodeParams&, void*,
                             std::size_t) {
  return ThrustStatus::kNotBuilt;
}

}  // namespace paged
