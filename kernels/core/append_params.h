// What an append kernel is given, on the CPU and on the GPU alike.
#ifndef PAGED_KERNELS_CORE_APPEND_PARAMS_H_
#define PAGED_KERNELS_CORE_APPEND_PARAMS_H_

#include <cstdint>
#include <initializer_list>

#include "kernels/core/dtype.h"
#include "kernels/core/kv_layout.h"
#include "kernels/core/kv_scales.h"

namespace paged {

// One of keys and values: rows of new tokens, and the pool they go to.
struct AppendTensor {
  const void* rows = nullptr;  // [num_tokens, num_kv_heads, head_dim]
  int64_t token_stride = 0;
  int64_t head_stride = 0;
  void* pool = nullptr;
  KvView layout;  // its strides; `data` is not used
  int head_dim = 0;
  KvScales scales = {};  // what codes are multiplied by when they are read
  // Where each row has a scale of its own: the memory of `scales`, written.
  float* row_scales = nullptr;
};

struct AppendParams {
  AppendTensor key;
  AppendTensor value;
  const int64_t* slot_mapping = nullptr;  // [num_tokens], negative: skip
  int num_tokens = 0;
  int num_kv_heads = 0;
  int block_size = 0;
  int64_t num_slots = 0;  // of the pool; slots from here on are skipped
  ElementKind row_element = ElementKind::kF16;
  ElementKind pool_element = ElementKind::kF16;
  bool converts = false;  // else rows are moved as they are, scales unused
};

// Where a token goes; `is_named` is false where nowhere.
struct AppendPlace {
  bool is_named = false;
  int64_t block = 0;
  int slot = 0;
};

// Of an entry of slot_mapping.
PAGED_HD inline AppendPlace PlaceOfEntry(const AppendParams& p, int64_t entry) {
  if (entry < 0 || entry >= p.num_slots) return {};
  const int64_t block = entry / p.block_size;
  return {true, block, static_cast<int>(entry - block * p.block_size)};
}

PAGED_HD inline AppendPlace PlaceOfToken(const AppendParams& p, int64_t token) {
  return PlaceOfEntry(p, p.slot_mapping[token]);
}

// Elements from `rows` to a row.
PAGED_HD inline int64_t RowOffset(const AppendTensor& tensor, int64_t token,
                                  int kv_head) {
  return token * tensor.token_stride + kv_head * tensor.head_stride;
}

// Floats from `row_scales` to a row's.
PAGED_HD inline int64_t RowScaleOffset(const AppendTensor& tensor,
                                       const AppendPlace& place, int kv_head) {
  return place.block * tensor.scales.block_stride +
         place.slot * tensor.scales.slot_stride +
         kv_head * tensor.scales.head_stride;
}

// The heads of a token as one row, where they lie side by side in all four
// tensors: longer rows, and fewer of them. For rows that are moved as they are.
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
