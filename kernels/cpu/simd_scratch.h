// What one program of the vector kernels works in.
#ifndef PAGED_KERNELS_CPU_SIMD_SCRATCH_H_
#define PAGED_KERNELS_CPU_SIMD_SCRATCH_H_

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "kernels/core/online_softmax.h"

namespace paged {

// Floats of the widest vector.
inline constexpr int kMaxSimdLanes = 16;

// Rows are padded to a multiple of this many floats, and start at one: elements
// of 16 bits of the widest vector.
inline constexpr int kRowPadding = 2 * kMaxSimdLanes;

// Rows that are multiplied at once: a row count is cut into chunks of this
// many, and one of the rest.
inline constexpr int kMaxChunkRows = 8;

// Grows to the largest shape that it has seen, so that runs stop allocating.
class SimdScratch {
 public:
  // Empties the states, zeroes the padding of the query and, but for those of
  // past spans, values.
  void Reset(int num_heads, int num_rows, int key_dim, int value_dim);

  int num_heads() const { return num_heads_; }
  int num_rows() const { return num_rows_; }
  int query_stride() const { return query_stride_; }
  int value_stride() const { return value_stride_; }

  float* query(int head, int row) {
    return query_ + RowOf(head, row) * query_stride_;
  }
  // The queries of a chunk of rows once more, in a form that the kernels
  // choose: as many bytes as it has rows of floats.
  void* packed_queries(int head, int first_row) {
    return packed_queries_ + RowOf(head, first_row) * query_stride_;
  }
  float* values(int head, int row) {
    return values_ + RowOf(head, row) * value_stride_;
  }
  SoftmaxState& state(int head, int row) { return states_[RowOf(head, row)]; }
  // Of the spans before the one at hand (kernels/cpu/spans.h).
  float* past_values(int head, int row) {
    return past_values_ + RowOf(head, row) * value_stride_;
  }
  SoftmaxState& past_state(int head, int row) {
    return past_states_[RowOf(head, row)];
  }
  void ZeroPastValues();
  // Makes the past spans' states and values those of all.
  void TakePast() {
    std::swap(values_, past_values_);
    std::swap(states_, past_states_);
  }

  // Running maxima, then running sums, then what these have lost by rounding,
  // of a chunk of rows; a lane of a row sees every so-many-th token only.
  float* lanes(int head, int first_row) {
    return lanes_ + RowOf(head, first_row) * kLaneFloats;
  }

 private:
  static constexpr int kLaneFloats = 3 * kMaxSimdLanes;

  std::ptrdiff_t RowOf(int head, int row) const {
    return std::ptrdiff_t{head} * num_rows_ + row;
  }

  struct Free {
    void operator()(float* memory) const {
      ::operator delete[](memory, std::align_val_t{64});
    }
  };
  std::unique_ptr<float[], Free> memory_;
  std::size_t capacity_ = 0;  // floats
  int num_heads_ = 0;
  int num_rows_ = 0;
  int query_stride_ = 0;
  int value_stride_ = 0;
  float* query_ = nullptr;
  float* packed_queries_ = nullptr;
  float* values_ = nullptr;
  float* lanes_ = nullptr;
  SoftmaxState* states_ = nullptr;
  float* past_values_ = nullptr;
  SoftmaxState* past_states_ = nullptr;
};

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_SIMD_SCRATCH_H_
