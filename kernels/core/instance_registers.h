// Registers per thread of each of kInstances, of the ending that needs the
// most, as ptxas 13.0 reports them for sm_90; a GPU test holds them against
// CUDA's own report. No kernel is compiled from them.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

#include <array>

#include "kernels/core/instance.h"

namespace paged {

inline constexpr auto kInstanceRegisters = std::to_array({
    96,  114, 118, 122, 162, 150, 162, 255, 126, 126, 179, 168, 179, 254, 128,
    128, 203, 214, 203, 214, 172, 164, 168, 165, 196, 186, 220, 220, 255, 255,
    248, 252, 158, 166, 224, 224, 255, 255, 246, 246, 255, 255, 96,  114, 118,
    122, 162, 150, 162, 255, 126, 126, 179, 168, 179, 254, 128, 128, 203, 214,
    203, 214, 172, 164, 168, 165, 196, 186, 220, 220, 255, 255, 248, 252, 158,
    166, 224, 224, 255, 255, 246, 246, 255, 255, 127, 127, 145, 145, 141, 149,
    141, 149, 141, 168, 168, 250, 211, 200, 167, 167, 224, 224, 255, 141, 149,
    141, 149, 141, 168, 168, 250, 211, 200, 167, 167, 224, 224, 255, 140, 149,
    140, 149, 142, 168, 168, 250, 209, 197, 165, 167, 221, 221, 255, 160, 252,
    160, 252, 160, 254, 156, 250, 157, 250, 159, 249,
});
static_assert(kInstanceRegisters.size() == kInstances.size());

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
