// What CUDA says, as a Status.
#ifndef PAGED_LIB_PAGED_INTERNAL_CUDA_STATUS_H_
#define PAGED_LIB_PAGED_INTERNAL_CUDA_STATUS_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paged::internal {

// ResourceExhausted for no memory, Unavailable for no device or driver,
// Internal for the rest; the text is "`what`: CUDA's words". Clears the
// thread's last error, so that nothing sticks to the next call.
absl::Status CudaStatus(cudaError_t error, absl::string_view what);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_CUDA_STATUS_H_
