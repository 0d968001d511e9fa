// The loop of the vector kernels: the rows of an item, for several kv heads,
// against its tiles. As AttendRange of attend_range.h, with the tiles outermost
// and the heads inside, the order in which a block of all heads lies in memory.
// The tiles of a head come in one order, whatever heads share a program.
#if defined(PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
#undef PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
#else
#define PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cpu/simd_kernels.h"
#include "kernels/cpu/simd_ops-inl.h"
#include "kernels/cpu/simd_rows-inl.h"
#include "kernels/cpu/simd_scratch.h"
#include "kernels/cpu/simd_spans-inl.h"
#include "kernels/cpu/simd_tile-inl.h"
#include "kernels/cpu/simd_turns-inl.h"
#include "kernels/cpu/simd_values-inl.h"
#include "kernels/cpu/spans.h"

HWY_BEFORE_NAMESPACE();
namespace paged {
namespace HWY_NAMESPACE {

// What scores and weights of a step are subject to beyond the scale.
struct StepRules {
  const DecodeParams& p;
  const WorkItem& item;
  const int* positions;   // [num_tokens]
  const int64_t* blocks;  // alike
  const int* slots;       // alike
  int kv_head;
};

// Scales, masks and modifies the scores of a chunk, one at a time.
template <int R>
HWY_NOINLINE void ApplyRules(const StepRules& step, int num_tokens,
                             int first_row, float scale_log2, float* scores) {
  for (int r = 0; r < R; ++r) {
    const RowRules row = RowRulesOf(step.p, step.item, step.kv_head,
                                    step.item.first_row + first_row + r);
    for (int t = 0; t < num_tokens; ++t) {
      float& score = scores[ScoreIndex<R>(r, t)];
      const float scale =
          scale_log2 * TokenScale(step.p.key_scales, step.blocks[t],
                                  step.slots[t], step.kv_head);
      score = RuledScore(step.p.rules, row, step.positions[t], score * scale);
    }
  }
}

// Takes the values' scales of single tokens into their weights, after these
// were summed up.
template <int R>
HWY_NOINLINE void ScaleWeights(const StepRules& step, int num_tokens,
                               float* weights) {
  if (!AreByToken(step.p.value_scales)) return;
  for (int t = 0; t < num_tokens; ++t) {
    const float scale = TokenScale(step.p.value_scales, step.blocks[t],
                                   step.slots[t], step.kv_head);
    for (int r = 0; r < R; ++r) weights[ScoreIndex<R>(r, t)] *= scale;
  }
}

// `rules` is null where there are none.
template <int R, typename Kv>
HWY_NOINLINE void AttendChunk(const TokenRows<Kv>& keys,
                              const TokenRows<Kv>& values, float scale_log2,
                              const StepRules* rules, int head, int first_row,
                              SimdScratch& scratch) {
  // And a tile's place for what ValueMath keeps beside the weights.
  HWY_ALIGN float scores[(kStepTokens / kTileOf<R> + 1) * kTileSums];
  float* max = scratch.lanes(head, first_row);
  float* sum = max + kMaxSimdLanes;
  float* sums = scratch.values(head, first_row);
  float scale = KeyMath<Kv>::template ScoreStep<R>(
      keys, scratch, head, first_row, scale_log2, scores);
  if (rules != nullptr) {
    ApplyRules<R>(*rules, keys.num_tokens, first_row, scale, scores);
    scale = 1.0f;
  } else if (!(scale >= std::numeric_limits<float>::min())) {
    // Times that, a score of minus infinity might not be what it is.
    ScaleScores<R>(keys.num_tokens, scale, scores);
    scale = 1.0f;
  }
  HideTokens<R>(keys.num_tokens, scores);
  PushStep<R>(keys.num_tokens, scale, scores, max, sum, sums,
              scratch.value_stride());
  if (rules != nullptr) ScaleWeights<R>(*rules, keys.num_tokens, scores);
  ValueMath<Kv>::template PackWeights<R>(keys.num_tokens, scores);
  AddStepValues<R>(values, scores, sums, scratch.value_stride());
}

// One step of one kv head against all rows. The first chunk of them fetches
// `ahead`.
template <typename Kv>
void AttendStep(const DecodeParams& p, const WorkItem& item, HeadStep<Kv> now,
                const RowsAhead<Kv>& ahead, int first_head,
                SimdScratch& scratch) {
  const int64_t kv_head = first_head + now.head;
  TokenRows<Kv> keys{
      now.step->num_tokens, now.step->keys,   kv_head * p.key.head_stride,
      ahead.keys,           ahead.key_offset, p.key_dim};
  TokenRows<Kv> values{
      now.step->num_tokens, now.step->values,   kv_head * p.value.head_stride,
      ahead.values,         ahead.value_offset, p.value_dim};
  const StepRules step_rules{p,
                             item,
                             now.step->positions,
                             now.step->blocks,
                             now.step->slots,
                             static_cast<int>(kv_head)};
  const float scale_log2 =
      p.scale_log2 * HeadScale(p.key_scales, static_cast<int>(kv_head));
  const StepRules* rules = IsGeneral(p) ? &step_rules : nullptr;
  for (int row = 0; row < scratch.num_rows();) {
    row += WithChunkRows(scratch.num_rows() - row, [&]<int R>(RowCount<R>) {
      AttendChunk<R>(keys, values, scale_log2, rules, now.head, row, scratch);
    });
    keys.next = values.next = nullptr;
  }
}

// Queries in the form that ScoreStep takes, where that is not rows of floats.
template <typename Kv>
void PackQueries(SimdScratch& scratch) {
  if constexpr (KeyMath<Kv>::kIsPacked) {
    for (int head = 0; head < scratch.num_heads(); ++head) {
      for (int row = 0; row < scratch.num_rows();) {
        row += WithChunkRows(scratch.num_rows() - row, [&]<int R>(RowCount<R>) {
          KeyMath<Kv>::template Pack<R>(scratch, head, row);
        });
      }
    }
  }
}

template <typename Kv>
void Attend(const DecodeParams& p, const WorkItem& item, int first_head,
            SimdScratch& scratch) {
  const int num_heads = scratch.num_heads();
  const int max_steps = StepsPerTurn(p, num_heads);
  PackQueries<Kv>(scratch);
  if (HasSpanEnd(item)) scratch.ZeroPastValues();
  Turn<Kv> turns[2];
  const bool is_in_order =
      num_heads > 1 && !IsHeadMajor(p) && scratch.num_rows() >= kMinRowsInOrder;
  RowsInOrder<Kv> in_order(p, first_head, num_heads);
  int tile_idx = item.first_tile;
  bool has_past = false;
  FindTurn(p, item, tile_idx, max_steps, turns[0]);
  for (int i = 0; turns[i].count > 0; i = 1 - i) {
    const Turn<Kv>& now = turns[i];
    Turn<Kv>& next = turns[1 - i];
    FindTurn(p, item, tile_idx, max_steps, next);
    TurnCursor<Kv> fetched(now, &next, num_heads);
    // Less than a turn: what the next one fetches is behind it.
    for (int step = std::min(kStepsAhead, now.count * num_heads); step > 0;
         --step) {
      fetched.Advance();
    }
    int rank = 0;
    for (TurnCursor<Kv> at(now, nullptr, num_heads); !at.is_done();
         at.Advance(), fetched.Advance(), ++rank) {
      const HeadStep<Kv> step = at.get();
      const RowsAhead<Kv> ahead = is_in_order
                                      ? in_order.Share(next, rank)
                                      : RowsOf(p, fetched.get(), first_head);
      AttendStep(p, item, step, ahead, first_head, scratch);
      if (step.step->ends_span) {
        EndSpan(step.head, scratch);
        has_past = true;
      }
    }
  }
  for (int head = 0; head < num_heads; ++head) {
    if (has_past) {
      EndSpan(head, scratch);
    } else {
      FoldLanes(head, scratch);
    }
  }
  if (has_past) scratch.TakePast();
}

// Of what caches alone are stored as, nothing is written.
template <typename Element>
const SimdElementKernels* ElementKernels() {
  if constexpr (sizeof(Element) == 1) {
    static constexpr SimdElementKernels kKernels = {&LoadRow<Element>, nullptr,
                                                    &Attend<Element>, &Exp2Row};
    return &kKernels;
  } else {
    static constexpr SimdElementKernels kKernels = {
        &LoadRow<Element>, &StoreRow<Element>, &Attend<Element>, &Exp2Row};
    return &kKernels;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace paged
HWY_AFTER_NAMESPACE();

#endif  // PAGED_KERNELS_CPU_SIMD_ATTEND_INL_H_
