// Writes new keys and values into their slots, converted to what the cache
// stores.
//
// Grid    x: groups of lanes, one for each row (token, kv head); y: keys,
//         values.
// Group   a power of two of lanes, up to a warp: where there are many rows, as
//         few as can hold a row, so that what is done for a row is done by few.
// Lane    kPieces pieces of its row, in registers between the search for the
//         largest magnitude and the conversion. All are loaded at once, while
//         the slot is on its way. What is left of longer rows is read again,
//         from the first cache.
//
// Rows with NaN, infinities, or scales that Divisor does not serve, and rows
// that are not made of aligned pieces, are converted one element at a time.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "kernels/core/divisor.h"
#include "kernels/core/quantise.h"
#include "kernels/cuda/append_codes.h"
#include "kernels/cuda/code_row.cuh"
#include "kernels/cuda/code_words.cuh"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {
namespace {

constexpr int kThreads = 128;
// Per SM; 80 KB on their way, which an SM needs to be full.
constexpr int kCtas = 10;
// Of a grid: from here on, lanes that share a row repeat more than they save.
constexpr int64_t kManyThreads = int64_t{1} << 15;

template <typename Source, typename Code>
__device__ __forceinline__ void StoreOneByOne(const CodeRow<Source, Code>& row,
                                              float scale) {
  ForEach(row, 0, row.dim, [&](int at) {
    row.target[at] = Quantised<Code>(ToFloat(row.source[at]), scale);
  });
}

template <typename Source, typename Code>
__device__ __forceinline__ void StorePieces(const CodeRow<Source, Code>& row,
                                            const HeldPieces<Source>& held,
                                            const Divisor& divide) {
  auto* target = reinterpret_cast<WordsOf<Code, kWidth>*>(row.target);
  held.ForEachPiece(row, [&](int at, const auto& piece) {
    float values[kWidth];
    Decode<Source>(piece, values);
#pragma unroll
    for (float& value : values) value = divide(value);
    target[at] = Encode<Code>(values);
  });
}

// Whether `divide` serves the row.
template <typename Source, typename Code>
__device__ __forceinline__ bool IsServed(const Divisor& divide, float largest) {
  if constexpr (sizeof(Code) == 1) return divide.IsExactForBytes(largest);
  // No number of fp16 is smaller.
  constexpr float kSmallest = std::is_same_v<Source, Half> ? 0x1p-24f : 0.0f;
  return divide.IsExactFor(kSmallest, largest);
}

template <typename Source, typename Code>
__global__ void __launch_bounds__(kThreads, kCtas)
    AppendCodesKernel(const __grid_constant__ AppendParams p, int log2_lanes,
                      bool has_pieces) {
  const AppendTensor& tensor = blockIdx.y == 0 ? p.key : p.value;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t index =
      int64_t{blockIdx.x} * (kThreads >> log2_lanes) + (thread >> log2_lanes);
  const int64_t token = index / p.num_kv_heads;
  const int kv_head = static_cast<int>(index - token * p.num_kv_heads);
  const bool is_row = token < p.num_tokens;
  const int64_t entry = is_row ? p.slot_mapping[token] : -1;
  CodeRow<Source, Code> row = {
      .source = static_cast<const Source*>(tensor.rows) +
                RowOffset(tensor, token, kv_head),
      .dim = is_row ? tensor.head_dim : 0,
      .lane = thread & ((1 << log2_lanes) - 1),
      .num_lanes = 1 << log2_lanes};
  const HeldPieces<Source> held(row, has_pieces);

  // Lanes without a row, or whose row is skipped, stay for the exchanges.
  const AppendPlace place = PlaceOfEntry(p, entry);
  const float largest = held.LargestOf(row);
  float scale = HeadScale(tensor.scales, kv_head);
  if (tensor.row_scales != nullptr) {
    const bool all_are_finite = largest <= kLargestFinite;
    const float amax =
        __all_sync(kAllLanes, all_are_finite) ? largest : LargestFiniteOf(row);
    const float row_scale =
        RowScale(amax, kLargestCode<Code>, tensor.scales.factor);
    if (row.lane == 0 && place.is_named) {
      tensor.row_scales[RowScaleOffset(tensor, place, kv_head)] = row_scale;
    }
    scale = tensor.scales.factor * row_scale;
  }
  if (!place.is_named) return;
  row.target = static_cast<Code*>(tensor.pool) +
               OffsetOf(tensor.layout, place.block, place.slot, kv_head);
  const Divisor divide(scale);
  if (IsServed<Source, Code>(divide, largest)) {
    StorePieces(row, held, divide);
  } else {
    StoreOneByOne(row, scale);
  }
}

// Whether every row, on both sides, is made of aligned pieces.
template <typename Source, typename Code>
bool HasPieces(const AppendTensor& tensor) {
  uint64_t source = reinterpret_cast<uintptr_t>(tensor.rows);
  uint64_t target = reinterpret_cast<uintptr_t>(tensor.pool);
  for (int64_t stride : {tensor.token_stride, tensor.head_stride}) {
    source |= static_cast<uint64_t>(stride) * sizeof(Source);
  }
  for (int64_t stride : {tensor.layout.block_stride, tensor.layout.slot_stride,
                         tensor.layout.head_stride}) {
    target |= static_cast<uint64_t>(stride) * sizeof(Code);
  }
  return tensor.head_dim % kWidth == 0 &&
         source % alignof(WordsOf<Source, kWidth>) == 0 &&
         target % alignof(WordsOf<Code, kWidth>) == 0;
}

// Of a group: the fewest that hold a row, unless the grid stays small.
template <typename Source>
int Log2Lanes(int64_t rows, int head_dim) {
  const int pieces = (head_dim + kWidth - 1) / kWidth;
  int log2_lanes = 0;
  while (log2_lanes < 5 && (1 << log2_lanes) < pieces &&
         ((kPieces<Source> << log2_lanes) < pieces ||
          (rows << log2_lanes) < kManyThreads)) {
    ++log2_lanes;
  }
  return log2_lanes;
}

template <typename Source, typename Code>
cudaError_t Launch(const AppendParams& p, cudaStream_t stream) {
  const int64_t rows = int64_t{p.num_tokens} * p.num_kv_heads;
  const int log2_lanes =
      Log2Lanes<Source>(rows, std::max(p.key.head_dim, p.value.head_dim));
  const int64_t rows_per_cta = kThreads >> log2_lanes;
  const auto ctas =
      static_cast<unsigned>((rows + rows_per_cta - 1) / rows_per_cta);
  return LaunchKernel(
      &AppendCodesKernel<Source, Code>,
      {.grid = dim3(ctas, 2), .threads = kThreads}, stream, p, log2_lanes,
      HasPieces<Source, Code>(p.key) && HasPieces<Source, Code>(p.value));
}

}  // namespace

cudaError_t LaunchAppendCodes(const AppendParams& p, cudaStream_t stream) {
  cudaError_t result = cudaSuccess;
  WithQueryElement(p.row_element, [&]<typename Source>(Source) {
    WithElement(p.pool_element, [&]<typename Code>(Code) {
      result = Launch<Source, Code>(p, stream);
    });
  });
  return result;
}

}  // namespace paged
