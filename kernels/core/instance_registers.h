// Registers per thread of each of kInstances, of the ending that needs the most,
// as ptxas 13.0 reports them for sm_90; a GPU test holds them against CUDA's own
// report.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

namespace paged {

inline constexpr int kInstanceRegisters[] = {
    119, 126, 118, 128, 184, 193, 183, 193, 145, 135, 162, 152, 178, 168, 202,
    201, 250, 254, 243, 244, 147, 147, 190, 190, 237, 230, 230, 230, 255, 255,
    119, 126, 118, 128, 184, 193, 183, 193, 145, 135, 162, 152, 178, 168, 202,
    201, 250, 254, 243, 244, 147, 147, 190, 190, 237, 230, 230, 230, 255, 255,
    135, 134, 193, 192, 193, 191, 161, 161, 214, 214, 250, 193, 193, 161, 161,
    212, 212, 250, 194, 192, 159, 159, 211, 211, 250, 160, 252, 160, 252, 160,
    254, 156, 250, 157, 250, 159, 249,
};

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
