#include "kernels/cpu/append_kernels.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace paged {
namespace {

void AppendHead(const AppendParams& p, const AppendTensor& tensor, int token,
                int64_t slot_id, int kv_head) {
  const int64_t from =
      token * tensor.token_stride + kv_head * tensor.head_stride;
  const int64_t to =
      OffsetOf(tensor.layout, slot_id / p.block_size,
               static_cast<int>(slot_id % p.block_size), kv_head);
  std::memcpy(
      static_cast<std::byte*>(tensor.pool) + to * p.element_bytes,
      static_cast<const std::byte*>(tensor.rows) + from * p.element_bytes,
      static_cast<std::size_t>(tensor.head_dim) *
          static_cast<std::size_t>(p.element_bytes));
}

}  // namespace

void RunAppendKv(const AppendParams& unmerged) {
  const AppendParams params = WithMergedHeads(unmerged);
  for (int token = 0; token < params.num_tokens; ++token) {
    const int64_t slot_id = params.slot_mapping[token];
    if (slot_id < 0 || slot_id >= params.num_slots) continue;
    for (int kv_head = 0; kv_head < params.num_kv_heads; ++kv_head) {
      AppendHead(params, params.key, token, slot_id, kv_head);
      AppendHead(params, params.value, token, slot_id, kv_head);
    }
  }
}

}  // namespace paged
