// Registers per thread of each of kInstances, of the ending that needs the
// most, as ptxas 13.0 reports them for sm_90; a GPU test holds them against
// CUDA's own report. No kernel is compiled from them.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

#include <array>

#include "kernels/core/instance.h"

namespace paged {

inline constexpr auto kInstanceRegisters = std::to_array({
    96,  120, 116, 122, 164, 150, 164, 255, 128, 128, 186, 168, 186, 255,
    128, 128, 203, 214, 203, 214, 172, 164, 168, 165, 196, 186, 220, 220,
    255, 255, 248, 252, 162, 166, 221, 221, 255, 255, 246, 246, 255, 255,
    96,  120, 116, 122, 164, 150, 164, 255, 128, 128, 186, 168, 186, 255,
    128, 128, 203, 214, 203, 214, 172, 164, 168, 165, 196, 186, 220, 220,
    255, 255, 248, 252, 162, 166, 221, 221, 255, 255, 246, 246, 255, 255,
    127, 127, 147, 147, 140, 148, 140, 148, 140, 184, 178, 254, 211, 201,
    167, 175, 238, 238, 254, 255, 255, 140, 148, 140, 148, 140, 184, 178,
    254, 211, 201, 165, 175, 238, 238, 254, 255, 255, 140, 148, 140, 148,
    140, 184, 182, 254, 209, 198, 165, 174, 236, 236, 254, 255, 255, 160,
    252, 160, 252, 160, 254, 156, 250, 157, 250, 157, 248,
});
static_assert(kInstanceRegisters.size() == kInstances.size());

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
