// The backend of machines without a GPU, and the specification of the others:
// it runs the same plans with the arithmetic of kernels/core.
//
// Example:
//
//     std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
//     CHECK(backend->profile().kind == paged::DeviceKind::kCpu);
//
// The environment chooses the kernels:
//
//     PAGED_CPU   auto: vector kernels where build and processor have them
//                 scalar: their specification, one value at a time
//
// It is read once per backend; any other value makes Prepare and Run fail with
// InvalidArgument, which names it.
#ifndef PAGED_LIB_PAGED_CPU_BACKEND_H_
#define PAGED_LIB_PAGED_CPU_BACKEND_H_

#include <memory>

#include "paged/backend.h"

namespace paged {

struct CpuOptions {
  int num_threads = 0;  // 0: one per core that the process may use
};

std::unique_ptr<Backend> MakeCpuBackend(const CpuOptions& options = {});

}  // namespace paged

#endif  // PAGED_LIB_PAGED_CPU_BACKEND_H_
