// Writes new keys and values into their slots, on the CPU: moved as they are,
// or converted to what the cache stores.
#ifndef PAGED_KERNELS_CPU_APPEND_KERNELS_H_
#define PAGED_KERNELS_CPU_APPEND_KERNELS_H_

#include "kernels/core/append_params.h"

namespace paged {

void RunAppendKv(const AppendParams& params);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_APPEND_KERNELS_H_
