// A program is one (work item, kv head), numbered as CTAs are on a GPU:
// program = item * num_kv_heads + kv_head.
#include "kernels/cpu/decode_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cpu/attend_range.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/reduce_rows.h"

namespace paged {
namespace {

AttendScratch& ThreadScratch() {
  thread_local AttendScratch scratch;
  return scratch;
}

// Normalises one row, and writes it with its lse. An empty state writes 0
// whatever its values hold.
template <typename QueryElement>
void StoreRow(const DecodeParams& p, int seq, int kv_head, int row,
              SoftmaxState state, const float* values) {
  const RowPlace place = RowPlaceOf(p, kv_head, row);
  auto* output = static_cast<QueryElement*>(p.output.data) +
                 RowOffset(p, p.output, seq, place);
  const bool is_empty = IsEmpty(state);
  const RowEnd end = EndOf(p.rules, state, place.q_head);
  for (int d = 0; d < p.value_dim; ++d) {
    output[d] =
        FromFloat<QueryElement>(is_empty ? 0.0f : values[d] * end.factor);
  }
  if (p.lse != nullptr) p.lse[LseIndex(p, seq, place)] = end.lse;
}

// Leaves an item's states, and the values of those that are not empty: the
// reduction never looks at the others.
void StorePartial(const DecodeParams& p, const WorkItem& item, int kv_head,
                  const AttendScratch& scratch) {
  for (int r = 0; r < item.num_rows; ++r) {
    const int64_t row = PartialRow(p, item.partial, kv_head, r);
    const SoftmaxState state = scratch.states[static_cast<std::size_t>(r)];
    p.partials.states[row] = IsEmpty(state) ? SoftmaxState{} : state;
    if (IsEmpty(state)) continue;
    const float* from = scratch.values.data() + r * p.value_dim;
    std::copy(from, from + p.value_dim, p.partials.values + row * p.value_dim);
  }
}

// Calls `epilogue(item, kv_head, scratch)` after the loop of each program.
template <typename QueryElement, typename KvElement, typename Epilogue>
void RunPrograms(const DecodeParams& p, ThreadPool& pool,
                 const Epilogue& epilogue) {
  const int64_t num_items = NumItems(p);
  const int64_t num_programs = num_items * p.num_splits * p.num_kv_heads;
  pool.ParallelFor(num_programs, [&](int64_t program) {
    const int64_t split_item = program / p.num_kv_heads;
    WorkItem item = SplitItemAt(p, split_item % num_items,
                                static_cast<int>(split_item / num_items));
    NarrowToVisible(p, item);
    const int kv_head = static_cast<int>(program % p.num_kv_heads);
    AttendScratch& scratch = ThreadScratch();
    AttendRange<QueryElement, KvElement>(p, item, kv_head, scratch);
    epilogue(item, kv_head, scratch);
  });
}

}  // namespace

SoftmaxState ReduceRow(const DecodeParams& p, int64_t first, int64_t stride,
                       std::vector<float>& values) {
  SoftmaxState total;
  for (int s = 0; s < p.num_splits; ++s) {
    const SoftmaxState part = p.partials.states[first + s * stride];
    if (!IsEmpty(part)) {
      total.max_log2 = std::fmax(total.max_log2, part.max_log2);
    }
  }
  values.assign(static_cast<std::size_t>(p.value_dim), 0.0f);
  for (int s = 0; s < p.num_splits; ++s) {
    const int64_t row = first + s * stride;
    const SoftmaxState part = p.partials.states[row];
    // The values of an empty partial were never written.
    if (IsEmpty(part)) continue;
    const float weight = WeightOf(part.max_log2, total.max_log2);
    total.sum += weight * part.sum;
    const float* from = p.partials.values + row * p.value_dim;
    for (int d = 0; d < p.value_dim; ++d) {
      values[static_cast<std::size_t>(d)] += weight * from[d];
    }
  }
  return total;
}

void RunV1(DecodeElements elements, const DecodeParams& params,
           ThreadPool& pool) {
  WithElement(elements.query, [&]<typename Query>(Query) {
    WithElement(elements.kv, [&]<typename Kv>(Kv) {
      RunPrograms<Query, Kv>(
          params, pool,
          [&](const WorkItem& item, int kv_head, const AttendScratch& scratch) {
            for (int r = 0; r < item.num_rows; ++r) {
              StoreRow<Query>(params, item.table_row, kv_head,
                              item.first_row + r,
                              scratch.states[static_cast<std::size_t>(r)],
                              scratch.values.data() + r * params.value_dim);
            }
          });
    });
  });
}

void RunSplitK(DecodeElements elements, const DecodeParams& params,
               ThreadPool& pool) {
  WithElement(elements.query, [&]<typename Query>(Query) {
    WithElement(elements.kv, [&]<typename Kv>(Kv) {
      RunPrograms<Query, Kv>(
          params, pool,
          [&](const WorkItem& item, int kv_head, const AttendScratch& scratch) {
            StorePartial(params, item, kv_head, scratch);
          });
    });
  });
}

void RunReduceSplits(DecodeElements elements, const DecodeParams& params,
                     ThreadPool& pool) {
  WithElement(elements.query, [&]<typename Query>(Query) {
    ReduceRows(params, pool,
               [&](int seq, int kv_head, int row, SoftmaxState state,
                   const float* values) {
                 StoreRow<Query>(params, seq, kv_head, row, state, values);
               });
  });
}

}  // namespace paged
