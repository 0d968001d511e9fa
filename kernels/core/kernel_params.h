// What a decode kernel is given, on the CPU and on the GPU alike: plain values
// and pointers, small enough to pass as one kernel argument.
#ifndef PAGED_KERNELS_CORE_KERNEL_PARAMS_H_
#define PAGED_KERNELS_CORE_KERNEL_PARAMS_H_

#include <cstdint>
#include <type_traits>

#include "kernels/core/chunk.h"
#include "kernels/core/dtype.h"
#include "kernels/core/host_device.h"
#include "kernels/core/kv_layout.h"
#include "kernels/core/kv_scales.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/score_rules.h"

namespace paged {

// What splits leave for the reduction, float32 and unnormalised.
//
//   states [num_partials, num_kv_heads, rows_per_item]
//   values [num_partials, num_kv_heads, rows_per_item, value_dim]
//
// This is the only description of the layout: producers and the reduction
// both go through PartialRow.
struct PartialView {
  SoftmaxState* states = nullptr;
  float* values = nullptr;
};

struct DecodeParams {
  RowView query;
  KvView key;
  KvView value;
  RowView output;
  float* lse = nullptr;  // [query tokens, num_q_heads], or null

  const int32_t* block_tables = nullptr;  // [num_seqs, max_blocks_per_seq]
  int64_t block_table_stride = 0;
  const int32_t* context_lens = nullptr;  // [num_seqs]
  // [num_seqs + 1], where each sequence's query tokens begin; null: q_len each.
  const int32_t* query_offsets = nullptr;
  // By query token: bit j says whether it sees query token j of its sequence.
  // Null: those up to itself.
  const uint32_t* tree_masks = nullptr;

  PartialView partials;  // of split_k, but for the reduction cluster
  // Of the reduction last_cta: splits of an (item, kv head), or chunks of a
  // sequence, row tile and kv head, that have arrived. Zero between runs.
  uint32_t* arrivals = nullptr;

  ScheduleView schedule;  // of the partition chunks
  int max_chunks = 0;     // that it has room for

  ElementKind query_element = ElementKind::kF16;  // and the output's
  int num_seqs = 0;
  int q_len = 1;  // the most that a sequence has, with query_offsets
  int num_kv_heads = 1;
  int group = 1;  // q heads per kv head
  int key_dim = 0;
  int value_dim = 0;
  int block_size = 0;
  int max_context_len = 0;  // lengths on the device are clamped to it

  // The rows of one (sequence, kv head) are dealt to items of at most
  // `rows_per_item`; items of the same split read the same tokens.
  int rows_per_item = 1;
  int num_row_tiles = 1;
  int num_splits = 1;

  float scale_log2 = 0.0f;  // softmax scale times log2(e)
  ScoreRules rules;
  KvScales key_scales;
  KvScales value_scales;
};
static_assert(std::is_trivially_copyable_v<DecodeParams>);
static_assert(sizeof(DecodeParams) <= 4096, "the limit of kernel arguments");

// Whether kernels need what score_rules.h and visibility.h offer, or scales of
// single tokens.
PAGED_HD inline bool IsGeneral(const DecodeParams& p) {
  return p.q_len > 1 || p.query_offsets != nullptr || p.tree_masks != nullptr ||
         AreByToken(p.key_scales) || AreByToken(p.value_scales) ||
         !IsPlain(p.rules);
}

// Where a sequence's query tokens are among all of them.
struct QueryTokens {
  int64_t first;
  int q_len;
};

PAGED_HD inline QueryTokens QueryTokensOf(const DecodeParams& p, int64_t seq) {
  if (p.query_offsets == nullptr) return {seq * p.q_len, p.q_len};
  const int first = p.query_offsets[seq];
  const int q_len = p.query_offsets[seq + 1] - first;
  // Lengths from the device never exceed the plan's capacity.
  return {first, q_len < 0 ? 0 : q_len < p.q_len ? q_len : p.q_len};
}

// Rows of one (sequence, kv head): query tokens times q heads of the group. At
// most, with query_offsets.
PAGED_HD inline int NumRows(const DecodeParams& p) { return p.q_len * p.group; }

// The query vector that row `row` of a kv head stands for.
struct RowPlace {
  int token;   // query token
  int q_head;  // q head
};

PAGED_HD inline RowPlace RowPlaceOf(const DecodeParams& p, int kv_head,
                                    int row) {
  // A division is worth avoiding at the start and the end of a kernel.
  if (p.q_len == 1) return {0, kv_head * p.group + row};
  return {row / p.group, kv_head * p.group + row % p.group};
}

// Elements from the data of `view`, the query or the output, to a row.
PAGED_HD inline int64_t RowOffset(const DecodeParams& p, const RowView& view,
                                  int64_t seq, RowPlace row) {
  if (p.query_offsets == nullptr) {
    return OffsetOf(view, seq, row.token, row.q_head);
  }
  return OffsetOf(view, 0, p.query_offsets[seq] + row.token, row.q_head);
}

// Index into `lse` of a row.
PAGED_HD inline int64_t LseIndex(const DecodeParams& p, int64_t seq,
                                 RowPlace row) {
  const int64_t num_q_heads = int64_t{p.num_kv_heads} * p.group;
  return (QueryTokensOf(p, seq).first + row.token) * num_q_heads + row.q_head;
}

// Index into `partials.states`; times value_dim, into `partials.values`.
PAGED_HD inline int64_t PartialRow(const DecodeParams& p, int64_t partial,
                                   int kv_head, int row_in_item) {
  return (partial * p.num_kv_heads + kv_head) * p.rows_per_item + row_in_item;
}

}  // namespace paged

#endif  // PAGED_KERNELS_CORE_KERNEL_PARAMS_H_
