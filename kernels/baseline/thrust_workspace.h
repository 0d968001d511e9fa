// How the Thrust baseline divides its workspace: by bumping a pointer, in the
// order keys, values, scores, maxima, sums, scratch.
#ifndef PAGED_KERNELS_BASELINE_THRUST_WORKSPACE_H_
#define PAGED_KERNELS_BASELINE_THRUST_WORKSPACE_H_

#include <cstddef>
#include <new>

#include "kernels/core/dtype.h"
#include "kernels/core/kernel_params.h"

namespace paged::internal {

// What cudaMalloc aligns to, and enough for every vector load.
inline constexpr std::size_t kThrustAlignment = 256;

constexpr std::size_t AlignedBytes(std::size_t bytes) {
  return (bytes + kThrustAlignment - 1) / kThrustAlignment * kThrustAlignment;
}

// Bytes of each array. Keys and values are dense [num_seqs, max_context_len,
// num_kv_heads, dim], scores float [num_seqs, q_len, num_q_heads,
// max_context_len], maxima and sums float [num_seqs, q_len, num_q_heads].
struct ThrustSizes {
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;
  std::size_t score_bytes = 0;
  std::size_t row_bytes = 0;  // of the maxima, and of the sums
};

ThrustSizes ThrustSizesOf(ElementKind element, const DecodeParams& params);

// An allocator over memory of the caller's. Thrust frees in reverse order, so
// only the newest allocation is ever taken back.
class BumpAllocator {
 public:
  using value_type = char;

  BumpAllocator(void* data, std::size_t bytes)
      : data_(static_cast<char*>(data)), bytes_(data == nullptr ? 0 : bytes) {}
  BumpAllocator(const BumpAllocator&) = delete;
  BumpAllocator& operator=(const BumpAllocator&) = delete;

  // Throws std::bad_alloc when the memory is used up, as Thrust expects.
  char* allocate(std::ptrdiff_t bytes) {
    const std::size_t wanted = AlignedBytes(static_cast<std::size_t>(bytes));
    if (bytes < 0 || wanted > bytes_ - used_) throw std::bad_alloc();
    char* result = data_ + used_;
    used_ += wanted;
    return result;
  }

  void deallocate(char* pointer, std::size_t bytes) {
    if (pointer + AlignedBytes(bytes) == data_ + used_) {
      used_ -= AlignedBytes(bytes);
    }
  }

 private:
  char* data_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

}  // namespace paged::internal

#endif  // PAGED_KERNELS_BASELINE_THRUST_WORKSPACE_H_
