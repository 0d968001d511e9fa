#ifndef PAGED_KERNELS_CPU_MERGE_KERNELS_H_
#define PAGED_KERNELS_CPU_MERGE_KERNELS_H_

#include "kernels/core/dtype.h"
#include "kernels/core/merge_params.h"
#include "kernels/cpu/thread_pool.h"

namespace paged {

// `element` is what both inputs and the output are stored as.
void RunMerge(ElementKind element, const MergeParams& params, ThreadPool& pool);

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_MERGE_KERNELS_H_
