// Paged addressing: where token `position` of a sequence lies in the pool.
//
//   block_tables[seq][position / block_size] names the block,
//   position % block_size                    is the slot inside it.
//
// Offsets are 64-bit from the first multiplication on: a pool holds more than
// 2^31 elements as soon as it is worth having.
#ifndef PAGED_KERNELS_CORE_KV_LAYOUT_H_
#define PAGED_KERNELS_CORE_KV_LAYOUT_H_

#include <cstdint>

#include "kernels/core/host_device.h"

namespace paged {

// The keys or the values of a pool of blocks. Strides are in elements; the
// innermost one, between dimensions of one head, is 1.
struct KvView {
  const void* data = nullptr;
  int64_t block_stride = 0;
  int64_t slot_stride = 0;
  int64_t head_stride = 0;
};

// The query or the output: [num_seqs, q_len, num_q_heads, head_dim], or
// [query tokens, num_q_heads, head_dim] without a stride of sequences.
struct RowView {
  void* data = nullptr;
  int64_t seq_stride = 0;
  int64_t token_stride = 0;
  int64_t head_stride = 0;
};

// A token's place in its sequence's blocks.
struct SlotPlace {
  int logical_block;  // column of the block table
  int slot;
};

PAGED_HD inline SlotPlace PlaceOf(int position, int block_size) {
  return {position / block_size, position % block_size};
}

// Elements from `view.data` to dimension 0 of (block, slot, kv head).
PAGED_HD inline int64_t OffsetOf(const KvView& view, int64_t block, int slot,
                                 int kv_head) {
  return block * view.block_stride + slot * view.slot_stride +
         kv_head * view.head_stride;
}

// Elements from `view.data` to dimension 0 of (sequence, query token, q head).
PAGED_HD inline int64_t OffsetOf(const RowView& view, int64_t seq, int token,
                                 int q_head) {
  return seq * view.seq_stride + token * view.token_stride +
         q_head * view.head_stride;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_KV_LAYOUT_H_
