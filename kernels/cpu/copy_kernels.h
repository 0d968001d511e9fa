// Copies whole blocks of a pool, on the CPU.
#ifndef PAGED_KERNELS_CPU_COPY_KERNELS_H_
#define PAGED_KERNELS_CPU_COPY_KERNELS_H_

#include "kernels/core/copy_params.h"

namespace paged {

void RunCopyBlocks(const CopyList& list);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_COPY_KERNELS_H_
