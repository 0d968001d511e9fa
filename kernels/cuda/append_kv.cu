// Writes new keys and values into their slots, as they are; append_codes.cu has
// those that are converted.
//
// Grid    warps over (token, kv head, span of the row), eight to a CTA. Heads
//         that lie side by side are one row.
// Row     its key and then its value, in the widest pieces that all addresses
//         allow.
// Lane    kPiecesPerLane of a span's pieces, 32 apart: all are loaded before
//         the first is stored, so that enough bytes are on their way.
#include <cstdint>

#include "kernels/cuda/append_codes.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/pieces.cuh"

namespace paged {
namespace {

constexpr int kWarpsPerCta = 8;
constexpr int kPiecesPerLane = 4;
constexpr int kPiecesPerSpan = 32 * kPiecesPerLane;

template <typename Piece>
int PiecesOf(const AppendTensor& tensor, int element_bytes) {
  return tensor.head_dim * element_bytes / static_cast<int>(sizeof(Piece));
}

// One tensor's row of this warp, before and after.
template <typename Piece>
struct Row {
  const Piece* source;
  Piece* target;
};

template <typename Piece>
__device__ Row<Piece> RowOf(const AppendTensor& tensor, int element_bytes,
                            int64_t token, const AppendPlace& place,
                            int kv_head) {
  const int64_t from = RowOffset(tensor, token, kv_head);
  const int64_t to = OffsetOf(tensor.layout, place.block, place.slot, kv_head);
  return {reinterpret_cast<const Piece*>(static_cast<const char*>(tensor.rows) +
                                         from * element_bytes),
          reinterpret_cast<Piece*>(static_cast<char*>(tensor.pool) +
                                   to * element_bytes)};
}

template <typename Piece>
__global__ void __launch_bounds__(kWarpsPerCta * 32)
    AppendKvKernel(const __grid_constant__ AppendParams p, int element_bytes,
                   int key_pieces, int value_pieces, int spans_per_row) {
  const int64_t warp = int64_t{blockIdx.x} * kWarpsPerCta + threadIdx.x / 32;
  const int64_t row = warp / spans_per_row;
  const int span = static_cast<int>(warp - row * spans_per_row);
  const int64_t token = row / p.num_kv_heads;
  if (token >= p.num_tokens) return;
  const int kv_head = static_cast<int>(row - token * p.num_kv_heads);
  const AppendPlace place = PlaceOfToken(p, token);
  if (!place.is_named) return;
  const Row<Piece> key =
      RowOf<Piece>(p.key, element_bytes, token, place, kv_head);
  const Row<Piece> value =
      RowOf<Piece>(p.value, element_bytes, token, place, kv_head);

  const int first = span * kPiecesPerSpan + static_cast<int>(threadIdx.x) % 32;
  Piece pieces[kPiecesPerLane];
#pragma unroll
  for (int i = 0; i < kPiecesPerLane; ++i) {
    const int at = first + 32 * i;
    if (at < key_pieces) {
      pieces[i] = key.source[at];
    } else if (at < key_pieces + value_pieces) {
      pieces[i] = value.source[at - key_pieces];
    }
  }
#pragma unroll
  for (int i = 0; i < kPiecesPerLane; ++i) {
    const int at = first + 32 * i;
    if (at < key_pieces) {
      key.target[at] = pieces[i];
    } else if (at < key_pieces + value_pieces) {
      value.target[at - key_pieces] = pieces[i];
    }
  }
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

template <typename Piece>
cudaError_t LaunchPieces(const AppendParams& p, int element_bytes,
                         cudaStream_t stream) {
  const int key_pieces = PiecesOf<Piece>(p.key, element_bytes);
  const int value_pieces = PiecesOf<Piece>(p.value, element_bytes);
  const int spans_per_row =
      (key_pieces + value_pieces + kPiecesPerSpan - 1) / kPiecesPerSpan;
  const int64_t warps = int64_t{p.num_tokens} * p.num_kv_heads * spans_per_row;
  const auto ctas =
      static_cast<unsigned>((warps + kWarpsPerCta - 1) / kWarpsPerCta);
  return LaunchKernel(&AppendKvKernel<Piece>,
                      {.grid = dim3(ctas), .threads = kWarpsPerCta * 32},
                      stream, p, element_bytes, key_pieces, value_pieces,
                      spans_per_row);
}

}  // namespace

cudaError_t LaunchAppendKv(const AppendParams& params, cudaStream_t stream) {
  if (params.num_tokens == 0) return cudaSuccess;
  if (params.converts) return LaunchAppendCodes(params, stream);
  const AppendParams p = WithMergedHeads(params);
  const int element_bytes = BytesOf(p.pool_element);
  return WithWidestPiece(AlignmentBits(p.key, element_bytes) |
                             AlignmentBits(p.value, element_bytes),
                         [&]<typename Piece>(Piece) {
                           return LaunchPieces<Piece>(p, element_bytes, stream);
                         });
}

}  // namespace paged
