// What an append kernel is given, on the CPU and on the GPU alike.
#ifndef PAGED_KERNELS_CORE_APPEND_PARAMS_H_
#define PAGED_KERNELS_CORE_APPEND_PARAMS_H_

#include <cstdint>
#include <initializer_list>

#include "kernels/core/kv_layout.h"

namespace paged {

// One of keys and values: rows of new tokens, and the pool they go to.
struct AppendTensor {
  const void* rows = nullptr;  // [num_tokens, num_kv_heads, head_dim]
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  void* pool = nullptr;
  KvView layout;  // its strides; `data` is not used
  int head_dim = 0;
};

struct AppendParams {
  AppendTensor key;
  AppendTensor value;
  const int64_t* slot_mapping = nullptr;  // [num_tokens], negative: skip
  int num_tokens = 0;
  int num_kv_heads = 0;
  int block_size = 0;
  int64_t num_slots = 0;  // of the pool; slots from here on are skipped
  int element_bytes = 0;
};

// The heads of a token as one row, where they lie side by side in all four
// tensors: longer rows, and fewer of them.
inline AppendParams WithMergedHeads(AppendParams p) {
  for (const AppendTensor* tensor : {&p.key, &p.value}) {
    if (tensor->head_stride != tensor->head_dim ||
        tensor->layout.head_stride != tensor->head_dim) {
      return p;
    }
  }
  p.key.head_dim *= p.num_kv_heads;
  p.value.head_dim *= p.num_kv_heads;
  p.num_kv_heads = 1;
  return p;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_APPEND_PARAMS_H_
