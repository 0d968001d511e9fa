// Writes new keys and values into their slots.
//
// Grid    (token, kv head) pairs dealt to CTAs of eight warps.
// Warp    one pair: its key, then its value, in the widest pieces that all
//         addresses allow.
#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"

namespace paged {
namespace {

constexpr int kWarpsPerCta = 8;

template <typename Piece>
__device__ void CopyRow(const AppendTensor& tensor, int element_bytes,
                        int64_t token, int64_t block, int slot, int kv_head) {
  const int64_t from =
      token * tensor.token_stride + kv_head * tensor.head_stride;
  const int64_t to = OffsetOf(tensor.layout, block, slot, kv_head);
  const Piece* source = reinterpret_cast<const Piece*>(
      static_cast<const char*>(tensor.rows) + from * element_bytes);
  Piece* target = reinterpret_cast<Piece*>(static_cast<char*>(tensor.pool) +
                                           to * element_bytes);
  const int pieces =
      tensor.head_dim * element_bytes / static_cast<int>(sizeof(Piece));
  for (int i = static_cast<int>(threadIdx.x) % 32; i < pieces; i += 32) {
    target[i] = source[i];
  }
}

template <typename Piece>
__global__ void __launch_bounds__(kWarpsPerCta * 32)
    AppendKvKernel(const __grid_constant__ AppendParams p) {
  const int64_t index = int64_t{blockIdx.x} * kWarpsPerCta + threadIdx.x / 32;
  const int64_t token = index / p.num_kv_heads;
  if (token >= p.num_tokens) return;
  const int kv_head = static_cast<int>(index - token * p.num_kv_heads);
  const int64_t place = p.slot_mapping[token];
  if (place < 0 || place >= p.num_slots) return;
  const int64_t block = place / p.block_size;
  const int slot = static_cast<int>(place - block * p.block_size);
  CopyRow<Piece>(p.key, p.element_bytes, token, block, slot, kv_head);
  CopyRow<Piece>(p.value, p.element_bytes, token, block, slot, kv_head);
}

// All addresses of a tensor, and the length of its rows, as one bit pattern:
// what divides it divides each of them.
uint64_t AlignmentBits(const AppendTensor& tensor, int element_bytes) {
  uint64_t strides = 0;
  for (int64_t stride : {tensor.token_stride, tensor.head_stride,
                         tensor.layout.block_stride, tensor.layout.slot_stride,
                         tensor.layout.head_stride, int64_t{tensor.head_dim}}) {
    strides |= static_cast<uint64_t>(stride * element_bytes);
  }
  return strides | reinterpret_cast<uintptr_t>(tensor.rows) |
         reinterpret_cast<uintptr_t>(tensor.pool);
}

}  // namespace

cudaError_t LaunchAppendKv(const AppendParams& p, cudaStream_t stream) {
  if (p.num_tokens == 0) return cudaSuccess;
  const int64_t rows = int64_t{p.num_tokens} * p.num_kv_heads;
  const unsigned ctas =
      static_cast<unsigned>((rows + kWarpsPerCta - 1) / kWarpsPerCta);
  const uint64_t bits = AlignmentBits(p.key, p.element_bytes) |
                        AlignmentBits(p.value, p.element_bytes);
  auto* kernel = bits % 16 == 0  ? &AppendKvKernel<uint4>
                 : bits % 8 == 0 ? &AppendKvKernel<uint2>
                 : bits % 4 == 0 ? &AppendKvKernel<uint32_t>
                                 : &AppendKvKernel<uint16_t>;
  return LaunchKernel(
      kernel, {.grid = dim3(ctas), .threads = kWarpsPerCta * 32}, stream, p);
}

}  // namespace paged
