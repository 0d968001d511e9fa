// Writes new keys and values into their slots, converted to what the cache
// stores.
//
// Grid    x: groups of lanes over rows (token, kv head); y: keys, values.
// Group   a few rows, of 64 bytes in a lane; as many lanes, a power of two, as
//         a row has pieces, up to a warp.
// Lane    its first piece of each row is loaded before any is converted, so
//         that enough bytes are on their way. Rows of more pieces than lanes
//         are read again, from the first cache.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "kernels/core/quantise.h"
#include "kernels/cuda/append_codes.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/ptx.cuh"

namespace paged {
namespace {

constexpr int kThreads = 256;
constexpr int kLaneBytes = 64;

// As a load or a store wants it.
template <typename Element, int kWidth>
struct alignas(sizeof(Element) * kWidth < 16 ? sizeof(Element) * kWidth
                                             : 16) Piece {
  Element elements[kWidth];
};

// FromFloat in the instructions of the hardware, where it has any.
template <typename Code>
__device__ __forceinline__ Code Encode(float x) {
  return FromFloat<Code>(x);
}
template <>
__device__ __forceinline__ Half Encode<Half>(float x) {
  return {__half_as_ushort(__float2half_rn(x))};
}
template <>
__device__ __forceinline__ BFloat16 Encode<BFloat16>(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

// ToFloat likewise.
template <typename Source>
__device__ __forceinline__ float Decode(Source x) {
  return ToFloat(x);
}
template <>
__device__ __forceinline__ float Decode<Half>(Half x) {
  return __half2float(__ushort_as_half(x.bits));
}

// value / scale, rounded as the division rounds, by two multiplications and a
// correction that is exact (Markstein, 1990: the reciprocal is the rounded one,
// and no step leaves the normal numbers).
class Divisor {
 public:
  __device__ __forceinline__ explicit Divisor(float scale)
      : scale_(scale), inverse_(1.0f / scale) {}

  // Whether that holds for values of these magnitudes, zeros left out.
  __device__ __forceinline__ bool IsExactFor(float smallest,
                                             float largest) const {
    const float magnitude = fabsf(scale_);
    return magnitude >= kLeast && magnitude <= kMost && smallest >= kLeast &&
           largest <= kMost;
  }

  __device__ __forceinline__ float operator()(float value) const {
    const float quotient = value * inverse_;
    // A zero keeps its sign.
    return copysignf(fmaf(fmaf(-quotient, scale_, value), inverse_, quotient),
                     quotient);
  }

 private:
  static constexpr float kLeast = 0x1p-60f;
  static constexpr float kMost = 0x1p60f;

  float scale_;
  float inverse_;
};

template <typename Code>
__device__ __forceinline__ void EncodePair(float first, float second,
                                           Code* to) {
  to[0] = Encode<Code>(first);
  to[1] = Encode<Code>(second);
}
#if __CUDA_ARCH__ >= 890
template <>
__device__ __forceinline__ void EncodePair<Fp8E4M3>(float first, float second,
                                                    Fp8E4M3* to) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(pair)
      : "f"(second), "f"(first));
  to[0].bits = static_cast<uint8_t>(pair);
  to[1].bits = static_cast<uint8_t>(pair >> 8);
}
template <>
__device__ __forceinline__ void EncodePair<Fp8E5M2>(float first, float second,
                                                    Fp8E5M2* to) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;"
      : "=h"(pair)
      : "f"(second), "f"(first));
  to[0].bits = static_cast<uint8_t>(pair);
  to[1].bits = static_cast<uint8_t>(pair >> 8);
}
#endif

template <typename Source, typename Code, int kWidth>
struct CodeRow {
  const Piece<Source, kWidth>* source = nullptr;  // null: no such row
  Piece<Code, kWidth>* target = nullptr;
  AppendPlace place;
  int kv_head = 0;
};

// `entry` is the token's in slot_mapping, or negative where there is no token.
template <typename Source, typename Code, int kWidth>
__device__ __forceinline__ CodeRow<Source, Code, kWidth> RowOf(
    const AppendParams& p, const AppendTensor& tensor, int64_t row,
    int64_t token, int64_t entry) {
  const AppendPlace place = PlaceOfEntry(p, entry);
  if (!place.is_named) return {};
  const int kv_head = static_cast<int>(row - token * p.num_kv_heads);
  return {reinterpret_cast<const Piece<Source, kWidth>*>(
              static_cast<const Source*>(tensor.rows) +
              RowOffset(tensor, token, kv_head)),
          reinterpret_cast<Piece<Code, kWidth>*>(
              static_cast<Code*>(tensor.pool) +
              OffsetOf(tensor.layout, place.block, place.slot, kv_head)),
          place, kv_head};
}

template <typename Source, int kWidth>
__device__ __forceinline__ void Decode(const Piece<Source, kWidth>& piece,
                                       float (&values)[kWidth]) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i) values[i] = Decode(piece.elements[i]);
}

// NaN is left out.
template <int kWidth>
__device__ __forceinline__ float LargestOf(const float (&values)[kWidth]) {
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) largest = fmaxf(largest, fabsf(values[i]));
  return largest;
}

// The same of what is finite.
template <typename Source, int kWidth>
__device__ __forceinline__ float LargestFiniteOf(
    const Piece<Source, kWidth>& piece) {
  float values[kWidth];
  Decode(piece, values);
  float largest = LargestOf(values);
  if (largest <= kLargestFinite) return largest;
  largest = 0.0f;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    largest = fmaxf(largest, FiniteMagnitude(values[i]));
  }
  return largest;
}

template <typename Source, int kWidth>
__device__ __forceinline__ float SmallestOf(const float (&values)[kWidth]) {
  // No number of fp16 is too small for a Divisor.
  if constexpr (std::is_same_v<Source, Half>) return 1.0f;
  float smallest = 1.0f;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) {
    if (values[i] != 0.0f) smallest = fminf(smallest, fabsf(values[i]));
  }
  return smallest;
}

template <typename Code, typename Source, int kWidth>
__device__ __forceinline__ Piece<Code, kWidth> Converted(
    const Piece<Source, kWidth>& piece, float scale) {
  float values[kWidth];
  Decode(piece, values);
  // A division that changes nothing costs more than the rest.
  if (scale != 1.0f) {
    const Divisor divide(scale);
    if (divide.IsExactFor(SmallestOf<Source>(values), LargestOf(values))) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) values[i] = divide(values[i]);
    } else {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) values[i] = values[i] / scale;
    }
  }
  Piece<Code, kWidth> codes;
  if constexpr (kWidth == 1) {
    codes.elements[0] = Encode<Code>(values[0]);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; i += 2) {
      EncodePair<Code>(values[i], values[i + 1], codes.elements + i);
    }
  }
  return codes;
}

// Rows of a group.
template <typename Source, int kWidth>
inline constexpr int kRows = std::clamp<int>(kLaneBytes /
                                                 (sizeof(Source) * kWidth),
                                             1, 4);

template <typename Source, typename Code, int kWidth>
__global__ void __launch_bounds__(kThreads)
    AppendCodesKernel(const __grid_constant__ AppendParams p,
                      int lanes_per_row) {
  constexpr int kRowsPerGroup = kRows<Source, kWidth>;
  const AppendTensor& tensor = blockIdx.y == 0 ? p.key : p.value;
  const int num_pieces = tensor.head_dim / kWidth;
  const int groups_per_cta = kThreads / lanes_per_row;
  const int64_t group = int64_t{blockIdx.x} * groups_per_cta +
                        static_cast<int>(threadIdx.x) / lanes_per_row;
  const int lane = static_cast<int>(threadIdx.x) % lanes_per_row;

  // All entries are on their way before one is looked at, and all rows before
  // one is converted.
  int64_t tokens[kRowsPerGroup];
  int64_t entries[kRowsPerGroup];
#pragma unroll
  for (int i = 0; i < kRowsPerGroup; ++i) {
    tokens[i] = (group * kRowsPerGroup + i) / p.num_kv_heads;
    const int64_t loaded = min(tokens[i], int64_t{p.num_tokens} - 1);
    entries[i] = p.slot_mapping[loaded];
    if (tokens[i] != loaded) entries[i] = -1;
  }
  CodeRow<Source, Code, kWidth> rows[kRowsPerGroup];
  Piece<Source, kWidth> first[kRowsPerGroup] = {};
#pragma unroll
  for (int i = 0; i < kRowsPerGroup; ++i) {
    rows[i] = RowOf<Source, Code, kWidth>(p, tensor, group * kRowsPerGroup + i,
                                          tokens[i], entries[i]);
    if (rows[i].source != nullptr && lane < num_pieces) {
      first[i] = rows[i].source[lane];
    }
  }
#pragma unroll
  for (int i = 0; i < kRowsPerGroup; ++i) {
    // Lanes without a row or a piece of it stay for the exchange of maxima.
    const int end = rows[i].source == nullptr ? 0 : num_pieces;
    float scale = HeadScale(tensor.scales, rows[i].kv_head);
    if (tensor.row_scales != nullptr) {
      float amax = LargestFiniteOf(first[i]);
      for (int at = lane + lanes_per_row; at < end; at += lanes_per_row) {
        amax = fmaxf(amax, LargestFiniteOf(rows[i].source[at]));
      }
      for (int lanes = lanes_per_row / 2; lanes > 0; lanes /= 2) {
        amax = fmaxf(amax, __shfl_xor_sync(kAllLanes, amax, lanes));
      }
      const float row_scale =
          RowScale(amax, kLargestCode<Code>, tensor.scales.factor);
      if (lane == 0 && end > 0) {
        tensor.row_scales[RowScaleOffset(tensor, rows[i].place,
                                         rows[i].kv_head)] = row_scale;
      }
      scale = tensor.scales.factor * row_scale;
    }
    if (lane < end) rows[i].target[lane] = Converted<Code>(first[i], scale);
    for (int at = lane + lanes_per_row; at < end; at += lanes_per_row) {
      rows[i].target[at] = Converted<Code>(rows[i].source[at], scale);
    }
  }
}

// Whether every row, on both sides, is made of aligned pieces of this width.
template <typename Source, typename Code, int kWidth>
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
         source % alignof(Piece<Source, kWidth>) == 0 &&
         target % alignof(Piece<Code, kWidth>) == 0;
}

template <typename Source, typename Code, int kWidth>
cudaError_t Launch(const AppendParams& p, cudaStream_t stream) {
  constexpr int kRowsPerGroup = kRows<Source, kWidth>;
  const int dim =
      p.key.head_dim > p.value.head_dim ? p.key.head_dim : p.value.head_dim;
  int lanes_per_row = 1;
  while (lanes_per_row < 32 && lanes_per_row * kWidth < dim) lanes_per_row *= 2;
  const int64_t rows = int64_t{p.num_tokens} * p.num_kv_heads;
  const int64_t threads =
      (rows + kRowsPerGroup - 1) / kRowsPerGroup * lanes_per_row;
  const auto ctas = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  return LaunchKernel(&AppendCodesKernel<Source, Code, kWidth>,
                      {.grid = dim3(ctas, 2), .threads = kThreads}, stream, p,
                      lanes_per_row);
}

// In the widest pieces of these that all rows are made of; the last is 1.
template <typename Source, typename Code, int kWidth, int... kNarrower>
cudaError_t LaunchWidest(const AppendParams& p, cudaStream_t stream) {
  if (kWidth == 1 || (HasPieces<Source, Code, kWidth>(p.key) &&
                      HasPieces<Source, Code, kWidth>(p.value))) {
    return Launch<Source, Code, kWidth>(p, stream);
  }
  if constexpr (sizeof...(kNarrower) > 0) {
    return LaunchWidest<Source, Code, kNarrower...>(p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t LaunchAppendCodes(const AppendParams& p, cudaStream_t stream) {
  cudaError_t result = cudaSuccess;
  WithQueryElement(p.row_element, [&]<typename Source>(Source) {
    WithElement(p.pool_element, [&]<typename Code>(Code) {
      // What is done for a row is shared out among more elements where codes
      // are small.
      if constexpr (sizeof(Code) == 1) {
        result = LaunchWidest<Source, Code, 16, 8, 1>(p, stream);
      } else {
        result = LaunchWidest<Source, Code, 8, 1>(p, stream);
      }
    });
  });
  return result;
}

}  // namespace paged
