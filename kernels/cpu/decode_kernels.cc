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
#include "kernels/cpu/program_trace.h"
#include "kernels/cpu/reduce_rows.h"

namespace paged {
namespace {

AttendScratch& ThreadScratch() {
  thread_local AttendScratch scratch;
  return scratch;
}

// Normalises one row, and writes it with its lse. An empty state writes 0
// whatever its values hold.
void StoreRow(const DecodeParams& p, ElementKind element, int seq, int kv_head,
              int row, SoftmaxState state, const float* values) {
  const RowPlace place = RowPlaceOf(p, kv_head, row);
  const bool is_empty = IsEmpty(state);
  const float divisor = DivisorOf(p.rules, state, place.q_head);
  const float scale = HeadScale(p.value_scales, kv_head);
  WithQueryElement(element, [&]<typename Query>(Query) {
    Query* output =
        static_cast<Query*>(p.output.data) + RowOffset(p, p.output, seq, place);
    for (int d = 0; d < p.value_dim; ++d) {
      output[d] =
          FromFloat<Query>(is_empty ? 0.0f : values[d] / divisor * scale);
    }
  });
  if (p.lse != nullptr) {
    p.lse[LseIndex(p, seq, place)] = EndOf(p.rules, state, place.q_head).lse;
  }
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
template <typename ItemAt, typename Epilogue>
void RunPrograms(DecodeElements elements, const DecodeParams& p,
                 int64_t num_items, ThreadPool& pool, const ItemAt& item_at,
                 const Epilogue& epilogue) {
  pool.ParallelFor(num_items * p.num_kv_heads, [&](int64_t program) {
    const ProgramTimer timer;
    WorkItem item = item_at(program / p.num_kv_heads);
    NarrowToVisible(p, item);
    const int kv_head = static_cast<int>(program % p.num_kv_heads);
    AttendScratch& scratch = ThreadScratch();
    WithElement(elements.kv, [&]<typename Kv>(Kv) {
      AttendRange<Kv>(p, elements.query, item, kv_head, scratch);
    });
    epilogue(item, kv_head, scratch);
    timer.Report(ProgramKind::kAttend, item.table_row, item.partial, kv_head,
                 1);
  });
}

// Writes the rows of an item that is the whole of its sequence.
void StoreItem(const DecodeParams& p, ElementKind element, const WorkItem& item,
               int kv_head, const AttendScratch& scratch) {
  for (int r = 0; r < item.num_rows; ++r) {
    StoreRow(p, element, item.table_row, kv_head, item.first_row + r,
             scratch.states[static_cast<std::size_t>(r)],
             scratch.values.data() + r * p.value_dim);
  }
}

// What the second passes store a row with.
auto RowStoreOf(const DecodeParams& p, ElementKind element) {
  return [&p, element](int seq, int kv_head, int row, SoftmaxState state,
                       const float* values) {
    StoreRow(p, element, seq, kv_head, row, state, values);
  };
}

}  // namespace

float DivisorOf(const ScoreRules& rules, SoftmaxState state, int q_head) {
  if (rules.sink_logits == nullptr) return state.sum;
  return state.sum +
         WeightOf(rules.sink_logits[q_head] * kLog2E, state.max_log2);
}

SoftmaxState ReduceRow(const DecodeParams& p, PartialRange parts, int kv_head,
                       int row_in_item, std::vector<float>& values) {
  SoftmaxState total;
  for (int s = 0; s < parts.count; ++s) {
    const SoftmaxState part =
        p.partials.states[PartialRow(p, parts.first + s, kv_head, row_in_item)];
    if (!IsEmpty(part)) {
      total.max_log2 = std::fmax(total.max_log2, part.max_log2);
    }
  }
  // In double precision: parts may be many, and each is short.
  thread_local std::vector<double> sums;
  sums.assign(static_cast<std::size_t>(p.value_dim), 0.0);
  double sum = 0.0;
  for (int s = 0; s < parts.count; ++s) {
    const int64_t row = PartialRow(p, parts.first + s, kv_head, row_in_item);
    const SoftmaxState part = p.partials.states[row];
    // The values of an empty partial were never written.
    if (IsEmpty(part)) continue;
    const double weight = WeightOf(part.max_log2, total.max_log2);
    sum += weight * part.sum;
    const float* from = p.partials.values + row * p.value_dim;
    for (int d = 0; d < p.value_dim; ++d) {
      sums[static_cast<std::size_t>(d)] += weight * from[d];
    }
  }
  total.sum = static_cast<float>(sum);
  // Values over the sum are to be as if it was not rounded.
  const double rounding = total.sum / sum;
  values.resize(sums.size());
  std::ranges::transform(sums, values.begin(), [&](double x) {
    return static_cast<float>(x * rounding);
  });
  return total;
}

void RunV1(DecodeElements elements, const DecodeParams& params,
           ThreadPool& pool) {
  RunPrograms(
      elements, params, NumItems(params), pool,
      [&](int64_t item) { return WholeItemAt(params, item); },
      [&](const WorkItem& item, int kv_head, const AttendScratch& scratch) {
        StoreItem(params, elements.query, item, kv_head, scratch);
      });
}

void RunSplitK(DecodeElements elements, const DecodeParams& params,
               ThreadPool& pool) {
  const int64_t num_items = NumItems(params);
  RunPrograms(
      elements, params, num_items * params.num_splits, pool,
      [&](int64_t index) {
        return SplitItemAt(params, index % num_items,
                           static_cast<int>(index / num_items));
      },
      [&](const WorkItem& item, int kv_head, const AttendScratch& scratch) {
        StorePartial(params, item, kv_head, scratch);
      });
}

void RunReduceSplits(DecodeElements elements, const DecodeParams& params,
                     ThreadPool& pool) {
  ReduceSplitRows(params, pool, RowStoreOf(params, elements.query));
}

void RunChunks(DecodeElements elements, const DecodeParams& params,
               ThreadPool& pool) {
  RunPrograms(
      elements, params, NumChunkItems(params), pool,
      [&](int64_t item) { return ChunkItemAt(params, item); },
      [&](const WorkItem& item, int kv_head, const AttendScratch& scratch) {
        if (item.is_whole) {
          StoreItem(params, elements.query, item, kv_head, scratch);
        } else {
          StorePartial(params, item, kv_head, scratch);
        }
      });
  ReduceChunkRows(params, pool, RowStoreOf(params, elements.query));
}

}  // namespace paged
