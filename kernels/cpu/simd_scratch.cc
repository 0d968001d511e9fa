#include "kernels/cpu/simd_scratch.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace paged {
namespace {

int RoundUp(int dim) {
  return (dim + kRowPadding - 1) / kRowPadding * kRowPadding;
}

}  // namespace

void SimdScratch::Reset(int num_heads, int num_rows, int key_dim,
                        int value_dim) {
  num_heads_ = num_heads;
  num_rows_ = num_rows;
  query_stride_ = RoundUp(key_dim);
  value_stride_ = RoundUp(value_dim);
  const auto rows = static_cast<std::size_t>(num_heads * num_rows);
  const auto query_floats = rows * static_cast<std::size_t>(query_stride_);
  const auto value_floats = rows * static_cast<std::size_t>(value_stride_);
  const std::size_t lane_floats = rows * kLaneFloats;
  static_assert(sizeof(SoftmaxState) == 2 * sizeof(float));
  const std::size_t total =
      2 * query_floats + 2 * value_floats + lane_floats + 2 * 2 * rows;
  if (total > capacity_) {
    memory_.reset(static_cast<float*>(
        ::operator new[](total * sizeof(float), std::align_val_t{64})));
    capacity_ = total;
  }
  query_ = memory_.get();
  packed_queries_ = query_ + query_floats;
  values_ = packed_queries_ + query_floats;
  past_values_ = values_ + value_floats;
  lanes_ = past_values_ + value_floats;
  states_ = new (lanes_ + lane_floats) SoftmaxState[2 * rows];
  past_states_ = states_ + rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t stride = static_cast<std::size_t>(query_stride_);
    std::fill(query_ + row * stride + key_dim, query_ + (row + 1) * stride,
              0.0f);
    float* lanes = lanes_ + row * kLaneFloats;
    std::fill_n(lanes, kMaxSimdLanes, -std::numeric_limits<float>::infinity());
    std::fill(lanes + kMaxSimdLanes, lanes + kLaneFloats, 0.0f);
  }
  std::fill_n(values_, value_floats, 0.0f);
}

void SimdScratch::ZeroPastValues() {
  const int rows = num_heads_ * num_rows_;
  std::fill_n(past_values_, std::ptrdiff_t{rows} * value_stride_, 0.0f);
}

}  // namespace paged
