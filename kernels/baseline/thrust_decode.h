// The materialising baseline, in Thrust algorithms: gathers keys and values
// through the block table, stores every score, then a segmented softmax and a
// weighted sum. Idiomatic, not tuned; it is here to be compared with.
#ifndef PAGED_KERNELS_BASELINE_THRUST_DECODE_H_
#define PAGED_KERNELS_BASELINE_THRUST_DECODE_H_

#include <cstddef>

#include "kernels/core/dtype.h"
#include "kernels/core/kernel_params.h"

struct CUstream_st;

namespace paged {

enum class ThrustStatus {
  kOk,
  kWorkspaceTooSmall,  // Thrust asked for more scratch than was foreseen
  kCapturing,          // the stream is being captured
  kNotBuilt,
  kDeviceError,  // CUDA failed; no error is left behind
};

// Storage of the query and the output, and of the cache, is one type.
// Bytes for the gathered cache, the scores and Thrust's own scratch, from
// capacities: params.num_seqs and params.max_context_len. Needs no pointers.
std::size_t ThrustWorkspaceBytes(ElementKind element,
                                 const DecodeParams& params);

// Host memory, through Thrust's CPU system. kNotBuilt without its headers.
bool HasThrustOnHost();
ThrustStatus RunThrustOnHost(ElementKind element, const DecodeParams& params,
                             void* workspace, std::size_t workspace_bytes);

// Device memory; may synchronise the stream. kNotBuilt without CUDA.
ThrustStatus RunThrustOnCuda(ElementKind element, const DecodeParams& params,
                             void* workspace, std::size_t workspace_bytes,
                             CUstream_st* stream);

}  // namespace paged

#endif  // PAGED_KERNELS_BASELINE_THRUST_DECODE_H_
