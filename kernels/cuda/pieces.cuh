// Bytes that are moved as they are, in the widest pieces that addresses allow.
#ifndef PAGED_KERNELS_CUDA_PIECES_CUH_
#define PAGED_KERNELS_CUDA_PIECES_CUH_

#include <cuda_runtime.h>

#include <cstdint>

namespace paged {

// Calls `launch` with a value of the widest type whose size divides all
// addresses, strides and lengths, of which `bits` is the disjunction.
template <typename Launch>
cudaError_t WithWidestPiece(uint64_t bits, const Launch& launch) {
  if (bits % 16 == 0) return launch(uint4{});
  if (bits % 8 == 0) return launch(uint2{});
  if (bits % 4 == 0) return launch(uint32_t{});
  if (bits % 2 == 0) return launch(uint16_t{});
  return launch(uint8_t{});
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_PIECES_CUH_
