// A CPU backend with kernels of the caller's choice, whatever the environment
// says: tests run every set that the processor has.
#ifndef PAGED_LIB_PAGED_INTERNAL_CPU_KERNELS_H_
#define PAGED_LIB_PAGED_INTERNAL_CPU_KERNELS_H_

#include <memory>

#include "kernels/cpu/simd_kernels.h"
#include "paged/backend.h"
#include "paged/cpu_backend.h"

namespace paged::internal {

// Null for the scalar kernels.
std::unique_ptr<Backend> MakeCpuBackendWith(const CpuOptions& options,
                                            const SimdKernels* simd);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CPU_KERNELS_H_
