// Registers per thread of each of kInstances, of the ending that needs the most,
// as ptxas 13.0 reports them for sm_90; a GPU test holds them against CUDA's own
// report.
#ifndef PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
#define PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_

namespace paged {

inline constexpr int kInstanceRegisters[] = {
    119, 127, 118, 128, 184, 193, 183, 193, 134, 134, 151, 150, 168, 167, 203,
    201, 249, 254, 243, 244, 142, 142, 190, 190, 230, 119, 127, 118, 128, 184,
    193, 183, 193, 134, 134, 151, 150, 168, 167, 203, 201, 249, 254, 243, 244,
    142, 142, 190, 190, 230, 124, 145, 124, 145, 182, 196, 181, 196, 250, 145,
    145, 195, 195, 250, 145, 145, 196, 196, 250, 164, 252, 164, 252, 166, 255,
    161, 249, 161, 250, 161, 250,
};

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_INSTANCE_REGISTERS_H_
