// Registers per thread of each of kInstances, of the ending that needs the
// most, as ptxas 13.0 reports them for sm_90; a GPU test holds them against
// CUDA's own report. No kernel is compiled from them.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

#include <array>

#include "kernels/core/instance.h"

namespace paged {

inline constexpr auto kInstanceRegisters = std::to_array({
    96,  116, 118, 120, 168, 154, 168, 254, 118, 118, 157, 150, 157, 255, 128,
    128, 206, 211, 206, 211, 168, 168, 162, 156, 192, 182, 211, 211, 251, 254,
    254, 254, 145, 145, 202, 202, 255, 250, 232, 232, 255, 255, 96,  116, 118,
    120, 168, 154, 168, 254, 118, 118, 157, 150, 157, 255, 128, 128, 206, 211,
    206, 211, 168, 168, 162, 156, 192, 182, 211, 211, 251, 254, 254, 254, 145,
    145, 202, 202, 255, 250, 232, 232, 255, 255, 127, 127, 127, 127, 138, 147,
    138, 147, 140, 165, 161, 248, 207, 195, 165, 165, 221, 221, 255, 138, 147,
    138, 147, 140, 165, 161, 248, 207, 195, 165, 165, 221, 221, 255, 138, 146,
    138, 146, 140, 165, 163, 246, 205, 196, 165, 165, 219, 219, 252, 160, 252,
    160, 252, 160, 254, 156, 250, 157, 250, 159, 249,
});
static_assert(kInstanceRegisters.size() == kInstances.size());

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
