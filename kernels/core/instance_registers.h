// Registers per thread of each of kInstances, of the ending that needs the most,
// as ptxas 13.0 reports them for sm_90; a GPU test holds them against CUDA's own
// report.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

namespace paged {

inline constexpr int kInstanceRegisters[] = {
    119, 124, 118, 123, 184, 189, 183, 188, 140, 135, 157, 152, 174, 168, 202,
    201, 250, 253, 243, 243, 142, 142, 190, 190, 238, 228, 226, 226, 254, 254,
    119, 124, 118, 123, 184, 189, 183, 188, 140, 135, 157, 152, 174, 168, 202,
    201, 250, 253, 243, 243, 142, 142, 190, 190, 238, 228, 226, 226, 254, 254,
    128, 128, 168, 188, 187, 187, 157, 159, 207, 207, 254, 188, 187, 157, 159,
    205, 205, 254, 168, 188, 157, 159, 209, 209, 248, 160, 252, 160, 252, 160,
    254, 156, 250, 157, 250, 159, 249,
};

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
