// A program is one (work item, some neighbouring kv heads).
#include "kernels/cpu/simd_decode.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cpu/program_trace.h"
#include "kernels/cpu/reduce_rows.h"
#include "kernels/cpu/simd_scratch.h"

namespace paged {
namespace {

// Programs per thread from which on threads that take one after another end
// close enough together.
constexpr int64_t kEnoughProgramsPerThread = 8;

SimdScratch& ThreadScratch() {
  thread_local SimdScratch scratch;
  return scratch;
}

std::byte* ElementAt(const RowView& view, int64_t offset, ElementKind kind) {
  return static_cast<std::byte*>(view.data) + offset * BytesOf(kind);
}

void LoadQueries(const SimdElementKernels& kernels, ElementKind kind,
                 const DecodeParams& p, const WorkItem& item, int first_head,
                 SimdScratch& scratch) {
  for (int head = 0; head < scratch.num_heads(); ++head) {
    for (int r = 0; r < item.num_rows; ++r) {
      const RowPlace row = RowPlaceOf(p, first_head + head, item.first_row + r);
      const int64_t offset = RowOffset(p, p.query, item.table_row, row);
      kernels.load_row(ElementAt(p.query, offset, kind), p.key_dim,
                       scratch.query(head, r));
    }
  }
}

// Normalises rows, and writes them with their lse. An empty state writes 0
// whatever its values hold.
struct RowStore {
  const SimdKernels& kernels;
  DecodeElements elements;
  const DecodeParams& p;

  void operator()(int seq, int kv_head, int row, SoftmaxState state,
                  const float* values) const {
    const RowPlace place = RowPlaceOf(p, kv_head, row);
    const int64_t offset = RowOffset(p, p.output, seq, place);
    std::byte* output = ElementAt(p.output, offset, elements.query);
    if (IsEmpty(state)) {
      std::memset(
          output, 0,
          static_cast<std::size_t>(p.value_dim * BytesOf(elements.query)));
    } else {
      kernels.of(elements.query)
          .store_row(values, DivisorOf(p.rules, state, place.q_head),
                     HeadScale(p.value_scales, kv_head), p.value_dim, output);
    }
    if (p.lse != nullptr) {
      p.lse[LseIndex(p, seq, place)] = EndOf(p.rules, state, place.q_head).lse;
    }
  }
};

// Writes the rows of an item that is the whole of its sequence.
void StoreItem(const SimdKernels& kernels, DecodeElements elements,
               const DecodeParams& p, const WorkItem& item, int first_head,
               SimdScratch& scratch) {
  const RowStore store{kernels, elements, p};
  for (int head = 0; head < scratch.num_heads(); ++head) {
    for (int r = 0; r < item.num_rows; ++r) {
      store(item.table_row, first_head + head, item.first_row + r,
            scratch.state(head, r), scratch.values(head, r));
    }
  }
}

// Leaves an item's states, and the values of those that are not empty.
void StorePartials(const DecodeParams& p, const WorkItem& item, int first_head,
                   SimdScratch& scratch) {
  for (int head = 0; head < scratch.num_heads(); ++head) {
    for (int r = 0; r < item.num_rows; ++r) {
      const int64_t row = PartialRow(p, item.partial, first_head + head, r);
      const SoftmaxState state = scratch.state(head, r);
      p.partials.states[row] = IsEmpty(state) ? SoftmaxState{} : state;
      if (IsEmpty(state)) continue;
      std::copy_n(scratch.values(head, r), p.value_dim,
                  p.partials.values + row * p.value_dim);
    }
  }
}

// Calls `epilogue(item, first_head, scratch)` after the loop of each program.
template <typename ItemAt, typename Epilogue>
void RunPrograms(const SimdKernels& kernels, DecodeElements elements,
                 const DecodeParams& p, int64_t num_items, ThreadPool& pool,
                 const ItemAt& item_at, const Epilogue& epilogue) {
  const int heads =
      HeadsPerProgram(num_items, p.num_kv_heads, pool.num_threads());
  const int shares = (p.num_kv_heads + heads - 1) / heads;
  pool.ParallelFor(num_items * shares, [&](int64_t program) {
    const ProgramTimer timer;
    WorkItem item = item_at(program / shares);
    NarrowToVisible(p, item);
    const int first_head = static_cast<int>(program % shares) * heads;
    SimdScratch& scratch = ThreadScratch();
    scratch.Reset(std::min(heads, p.num_kv_heads - first_head), item.num_rows,
                  p.key_dim, p.value_dim);
    LoadQueries(kernels.of(elements.query), elements.query, p, item, first_head,
                scratch);
    kernels.attending(elements.query, elements.kv)
        .attend(p, item, first_head, scratch);
    epilogue(item, first_head, scratch);
    timer.Report(ProgramKind::kAttend, item.table_row, item.partial, first_head,
                 scratch.num_heads());
  });
}

}  // namespace

int HeadsPerProgram(int64_t num_items, int num_kv_heads, int num_threads) {
  const int64_t enough = kEnoughProgramsPerThread * num_threads;
  int heads = num_kv_heads;
  while (heads > 1) {
    const int64_t programs = num_items * ((num_kv_heads + heads - 1) / heads);
    if (programs >= enough || programs % num_threads == 0) break;
    heads = (heads + 1) / 2;
  }
  return heads;
}

void RunSimdV1(const SimdKernels& kernels, DecodeElements elements,
               const DecodeParams& p, ThreadPool& pool) {
  RunPrograms(
      kernels, elements, p, NumItems(p), pool,
      [&](int64_t item) { return WholeItemAt(p, item); },
      [&](const WorkItem& item, int first_head, SimdScratch& scratch) {
        StoreItem(kernels, elements, p, item, first_head, scratch);
      });
}

void RunSimdSplitK(const SimdKernels& kernels, DecodeElements elements,
                   const DecodeParams& p, ThreadPool& pool) {
  const int64_t num_items = NumItems(p);
  RunPrograms(
      kernels, elements, p, num_items * p.num_splits, pool,
      [&](int64_t index) {
        return SplitItemAt(p, index % num_items,
                           static_cast<int>(index / num_items));
      },
      [&](const WorkItem& item, int first_head, SimdScratch& scratch) {
        StorePartials(p, item, first_head, scratch);
      });
}

void RunSimdReduceSplits(const SimdKernels& kernels, DecodeElements elements,
                         const DecodeParams& p, ThreadPool& pool) {
  ReduceSplitRows(p, pool, RowStore{kernels, elements, p});
}

void RunSimdChunks(const SimdKernels& kernels, DecodeElements elements,
                   const DecodeParams& p, ThreadPool& pool) {
  RunPrograms(
      kernels, elements, p, NumChunkItems(p), pool,
      [&](int64_t item) { return ChunkItemAt(p, item); },
      [&](const WorkItem& item, int first_head, SimdScratch& scratch) {
        if (item.is_whole) {
          StoreItem(kernels, elements, p, item, first_head, scratch);
        } else {
          StorePartials(p, item, first_head, scratch);
        }
      });
  ReduceChunkRows(p, pool, RowStore{kernels, elements, p});
}

}  // namespace paged
