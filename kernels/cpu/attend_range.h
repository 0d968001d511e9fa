// The loop of every decode kernel on the CPU: some rows of one (sequence, kv
// head) against some of its tiles. v1 and split_k differ in the tiles that they
// ask for, and in what they do with the result.
#ifndef PAGED_KERNELS_CPU_ATTEND_RANGE_H_
#define PAGED_KERNELS_CPU_ATTEND_RANGE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"
#include "kernels/core/visibility.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/large_score.h"
#include "kernels/cpu/spans.h"

namespace paged {

// What one program works in. A thread keeps one, so that runs stop allocating
// once it has grown to the largest shape.
struct AttendScratch {
  std::vector<SoftmaxState> states;  // [rows]
  std::vector<float> values;         // [rows, value_dim], unnormalised
  // Alike, of the spans before the one at hand.
  std::vector<SoftmaxState> past_states;
  std::vector<float> past_values;
  std::vector<float> query;    // [rows, key_dim]
  std::vector<float> weights;  // [rows, kTileTokens]; scores before
  std::vector<float> token;    // [max(key_dim, value_dim)]

  void Resize(int rows, int key_dim, int value_dim) {
    const auto n = static_cast<std::size_t>(rows);
    states.assign(n, SoftmaxState{});
    values.assign(n * static_cast<std::size_t>(value_dim), 0.0f);
    past_states = states;
    past_values = values;
    query.resize(n * static_cast<std::size_t>(key_dim));
    weights.resize(n * static_cast<std::size_t>(kTileTokens));
    token.resize(static_cast<std::size_t>(std::max(key_dim, value_dim)));
  }
};

// Sixteen running sums, so that the compiler may use vectors without changing
// the order of additions: every build gives the same bits.
inline float Dot(const float* a, const float* b, int dim) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  int d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    for (int i = 0; i < kLanes; ++i) lanes[i] += a[d + i] * b[d + i];
  }
  for (int i = 0; d + i < dim; ++i) lanes[i] += a[d + i] * b[d + i];
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// Takes one tile's scores, which are in base 2 times `scale`, into `state` and
// turns them into weights. Returns what the values accumulated so far must be
// multiplied by.
inline float PushTile(SoftmaxState& state, std::span<float> scores,
                      float scale) {
  float tile_max = -INFINITY;
  // fmax skips NaN; the weight of a NaN score is NaN, and so the sum.
  for (float score : scores) tile_max = std::fmax(tile_max, score * scale);
  if (std::fabs(tile_max) >= kLargeScore && tile_max != -INFINITY) {
    for (float& score : scores) score *= scale;
    scale = 1.0f;
  }
  const float max = std::fmax(state.max_log2, tile_max);
  const float keep = WeightOf(state.max_log2, max);
  // As in WeightOf.
  const float base = max == -INFINITY ? 0.0f : max;
  float sum = state.sum * keep;
  for (float& score : scores) {
    score = Exp2(std::fma(score, scale, -base));
    sum += score;
  }
  state = {max, sum};
  return keep;
}

// One tile's tokens, found through the block table. Tokens that no row of the
// item sees are not part of it: neither their slots nor their table entries are
// touched.
struct Tile {
  int num_tokens = 0;
  int positions[kTileTokens] = {};
  int64_t blocks[kTileTokens] = {};
  int slots[kTileTokens] = {};
};

inline Tile TileAt(const DecodeParams& p, const WorkItem& item, int tile) {
  const int first = SequenceTile(item, tile) * kTileTokens;
  const int32_t* table = p.block_tables + item.table_row * p.block_table_stride;
  Tile result;
  const int tokens_left = item.visible.end - first;
  for (int i = 0; i < std::min(kTileTokens, tokens_left); ++i) {
    if (!Sees(item.visible, first + i)) continue;
    const SlotPlace place = PlaceOf(first + i, p.block_size);
    const int t = result.num_tokens++;
    result.positions[t] = first + i;
    result.blocks[t] = table[place.logical_block];
    result.slots[t] = place.slot;
  }
  return result;
}

inline void LoadQuery(const DecodeParams& p, ElementKind element,
                      const WorkItem& item, int kv_head,
                      AttendScratch& scratch) {
  for (int r = 0; r < item.num_rows; ++r) {
    const RowPlace row = RowPlaceOf(p, kv_head, item.first_row + r);
    WithQueryElement(element, [&]<typename Query>(Query) {
      LoadRow(static_cast<const Query*>(p.query.data) +
                  RowOffset(p, p.query, item.table_row, row),
              p.key_dim, scratch.query.data() + r * p.key_dim);
    });
  }
}

// Turns the scores of a tile, [rows, kTileTokens], into those that the softmax
// takes. They are in base 2 times `scale_log2` and the tokens' own scales.
inline void ApplyRules(const DecodeParams& p, const WorkItem& item, int kv_head,
                       const Tile& tile, float scale_log2,
                       AttendScratch& scratch) {
  for (int r = 0; r < item.num_rows; ++r) {
    const RowRules row = RowRulesOf(p, item, kv_head, item.first_row + r);
    float* scores = scratch.weights.data() + r * kTileTokens;
    for (int t = 0; t < tile.num_tokens; ++t) {
      const float scale = scale_log2 * TokenScale(p.key_scales, tile.blocks[t],
                                                  tile.slots[t], kv_head);
      scores[t] =
          RuledScore(p.rules, row, tile.positions[t], scores[t] * scale);
    }
  }
}

// Adds the sums of a span to those of the spans before it, and begins the next
// one, whose maxima are no smaller.
inline void EndSpan(int value_dim, AttendScratch& scratch) {
  for (std::size_t r = 0; r < scratch.states.size(); ++r) {
    const float keep = AddSpan(scratch.states[r], scratch.past_states[r]);
    scratch.states[r].sum = 0.0f;
    const std::size_t at = r * static_cast<std::size_t>(value_dim);
    float* past = scratch.past_values.data() + at;
    float* values = scratch.values.data() + at;
    for (int d = 0; d < value_dim; ++d) past[d] = past[d] * keep + values[d];
    std::fill_n(values, value_dim, 0.0f);
  }
}

// Leaves states and unnormalised values of the item's rows in `scratch`, but
// for the values' HeadScale. The item is narrowed.
template <typename KvElement>
void AttendRange(const DecodeParams& p, ElementKind query_element,
                 const WorkItem& item, int kv_head, AttendScratch& scratch) {
  scratch.Resize(item.num_rows, p.key_dim, p.value_dim);
  LoadQuery(p, query_element, item, kv_head, scratch);
  const float scale_log2 = p.scale_log2 * HeadScale(p.key_scales, kv_head);
  const auto* keys = static_cast<const KvElement*>(p.key.data);
  const auto* values = static_cast<const KvElement*>(p.value.data);
  float* token = scratch.token.data();
  bool has_past = false;

  for (int tile_idx = item.first_tile; tile_idx < item.last_tile;
       tile_idx += item.tile_step) {
    const Tile tile = TileAt(p, item, tile_idx);
    for (int t = 0; t < tile.num_tokens; ++t) {
      LoadRow(keys + OffsetOf(p.key, tile.blocks[t], tile.slots[t], kv_head),
              p.key_dim, token);
      for (int r = 0; r < item.num_rows; ++r) {
        const float* query = scratch.query.data() + r * p.key_dim;
        scratch.weights[static_cast<std::size_t>(r * kTileTokens + t)] =
            Dot(query, token, p.key_dim);
      }
    }
    if (IsGeneral(p)) ApplyRules(p, item, kv_head, tile, scale_log2, scratch);
    // Those that rules have changed are scaled.
    const float scale = IsGeneral(p) ? 1.0f : scale_log2;
    for (int r = 0; r < item.num_rows; ++r) {
      const float keep = PushTile(scratch.states[static_cast<std::size_t>(r)],
                                  {scratch.weights.data() + r * kTileTokens,
                                   static_cast<std::size_t>(tile.num_tokens)},
                                  scale);
      float* sums = scratch.values.data() + r * p.value_dim;
      for (int d = 0; d < p.value_dim; ++d) sums[d] *= keep;
    }
    for (int t = 0; t < tile.num_tokens; ++t) {
      LoadRow(
          values + OffsetOf(p.value, tile.blocks[t], tile.slots[t], kv_head),
          p.value_dim, token);
      const float scale =
          TokenScale(p.value_scales, tile.blocks[t], tile.slots[t], kv_head);
      for (int r = 0; r < item.num_rows; ++r) {
        const float weight =
            scale *
            scratch.weights[static_cast<std::size_t>(r * kTileTokens + t)];
        float* sums = scratch.values.data() + r * p.value_dim;
        for (int d = 0; d < p.value_dim; ++d) sums[d] += weight * token[d];
      }
    }
    if (EndsSpan(item, tile_idx + item.tile_step)) {
      EndSpan(p.value_dim, scratch);
      has_past = true;
    }
  }
  if (has_past) {
    EndSpan(p.value_dim, scratch);
    scratch.states.swap(scratch.past_states);
    scratch.values.swap(scratch.past_values);
  }
}

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_ATTEND_RANGE_H_
