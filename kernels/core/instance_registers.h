// Registers per thread of each of kInstances, of the ending that needs the
// most, as ptxas 13.0 reports them for sm_90; a GPU test holds them against
// CUDA's own report. No kernel is compiled from them.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

#include <array>

#include "kernels/core/instance.h"

namespace paged {

inline constexpr auto kInstanceRegisters = std::to_array({
    90,  94,  106, 115, 136, 128, 135, 254, 111, 111, 150, 146, 246, 120,
    118, 184, 189, 183, 188, 141, 136, 158, 152, 176, 168, 202, 201, 249,
    253, 243, 243, 144, 144, 197, 197, 242, 244, 229, 229, 254, 254, 90,
    94,  106, 115, 136, 128, 135, 254, 111, 111, 150, 146, 246, 120, 118,
    184, 189, 183, 188, 141, 136, 158, 152, 176, 168, 202, 201, 249, 253,
    243, 243, 144, 144, 197, 197, 242, 244, 229, 229, 254, 254, 117, 119,
    128, 128, 135, 137, 135, 135, 155, 155, 252, 195, 195, 165, 167, 216,
    212, 254, 135, 137, 135, 135, 155, 155, 252, 195, 195, 165, 167, 214,
    210, 254, 135, 135, 129, 135, 155, 155, 252, 196, 196, 165, 165, 213,
    213, 254, 160, 252, 160, 252, 160, 254, 156, 250, 157, 250, 159, 249,
});
static_assert(kInstanceRegisters.size() == kInstances.size());

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
