// The steps of the Thrust baseline, for any execution policy. Each is one
// algorithm over one array, with everything it computes kept in memory.
//
// Included by thrust_decode_host.cc and by thrust_decode_cuda.cu alone. Each
// brings a World:
//
//   Element                 storage type, an empty struct around `Type` with
//                           ToFloat and FromFloat
//   Policy                  what Thrust's algorithms are given
//   SegmentedReduce(...)    out[s] = op over in[s * length ... + length)
#ifndef PAGED_KERNELS_BASELINE_THRUST_DECODE_IMPL_H_
#define PAGED_KERNELS_BASELINE_THRUST_DECODE_IMPL_H_

#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/tabulate.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/baseline/thrust_workspace.h"
#include "kernels/core/host_device.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/online_softmax.h"
#include "kernels/core/partition.h"

namespace paged::internal {

namespace thrust_ns = THRUST_NS_QUALIFIER;

PAGED_HD inline int ContextLen(const DecodeParams& p, int64_t seq) {
  return ClampContextLen(p, p.context_lens[seq]);
}

// A row of the scores: its sequence, and where its query vector lies.
struct ScoreRow {
  int64_t seq;
  int token;
  int q_head;
};

PAGED_HD inline ScoreRow ScoreRowAt(const DecodeParams& p, int64_t row) {
  const int num_q_heads = p.num_kv_heads * p.group;
  const int64_t query = row / num_q_heads;
  return {query / p.q_len, static_cast<int>(query % p.q_len),
          static_cast<int>(row % num_q_heads)};
}

// Element i of a dense copy of the keys or the values. Slots past a context
// are 0, and never read.
template <typename Element>
struct GatherElement {
  using Type = typename Element::Type;
  DecodeParams p;
  KvView cache;
  int dim;

  PAGED_HD Type operator()(int64_t i) const {
    const int d = static_cast<int>(i % dim);
    const int64_t cache_row = i / dim;
    const int kv_head = static_cast<int>(cache_row % p.num_kv_heads);
    const int64_t token = cache_row / p.num_kv_heads;
    const int position = static_cast<int>(token % p.max_context_len);
    const int64_t seq = token / p.max_context_len;
    if (position >= ContextLen(p, seq)) return Element::FromFloat(0.0f);
    const SlotPlace place = PlaceOf(position, p.block_size);
    const int64_t block =
        p.block_tables[seq * p.block_table_stride + place.logical_block];
    return static_cast<const Type*>(
        cache.data)[OffsetOf(cache, block, place.slot, kv_head) + d];
  }
};

// Score i of [num_seqs, q_len, num_q_heads, max_context_len], base 2; minus
// infinity past the context.
template <typename Element>
struct ScoreAt {
  using Type = typename Element::Type;
  DecodeParams p;
  const Type* keys;  // dense

  PAGED_HD float operator()(int64_t i) const {
    const ScoreRow row = ScoreRowAt(p, i / p.max_context_len);
    const int position = static_cast<int>(i % p.max_context_len);
    if (position >= ContextLen(p, row.seq)) return -INFINITY;
    const Type* query = static_cast<const Type*>(p.query.data) +
                        OffsetOf(p.query, row.seq, row.token, row.q_head);
    const int64_t token = row.seq * p.max_context_len + position;
    const Type* key =
        keys + (token * p.num_kv_heads + row.q_head / p.group) * p.key_dim;
    float dot = 0.0f;
    for (int d = 0; d < p.key_dim; ++d) {
      dot += Element::ToFloat(query[d]) * Element::ToFloat(key[d]);
    }
    return dot * p.scale_log2;
  }
};

// Turns score i into its unnormalised weight, in place.
struct ScoreToWeight {
  float* scores;
  const float* row_max;
  int64_t row_length;

  PAGED_HD void operator()(int64_t i) const {
    scores[i] = WeightOf(scores[i], row_max[i / row_length]);
  }
};

// Ignores NaN: it stays in the scores, and makes the sum NaN.
struct MaxIgnoringNan {
  PAGED_HD float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct Plus {
  PAGED_HD float operator()(float a, float b) const { return a + b; }
};

// Writes element i of [num_seqs, q_len, num_q_heads, value_dim].
template <typename Element>
struct WriteOutput {
  using Type = typename Element::Type;
  DecodeParams p;
  const Type* values;  // dense
  const float* weights;
  const float* row_max;
  const float* row_sum;

  PAGED_HD void operator()(int64_t i) const {
    const int d = static_cast<int>(i % p.value_dim);
    const int64_t row_idx = i / p.value_dim;
    const ScoreRow row = ScoreRowAt(p, row_idx);
    const float* row_weights = weights + row_idx * p.max_context_len;
    const int64_t token_stride = int64_t{p.num_kv_heads} * p.value_dim;
    const Type* value = values + row.seq * p.max_context_len * token_stride +
                        int64_t{row.q_head / p.group} * p.value_dim + d;
    float sum = 0.0f;
    const int context_len = ContextLen(p, row.seq);
    for (int t = 0; t < context_len; ++t) {
      sum += row_weights[t] * Element::ToFloat(value[t * token_stride]);
    }
    const SoftmaxState state = {row_max[row_idx], row_sum[row_idx]};
    Type* output = static_cast<Type*>(p.output.data) +
                   OffsetOf(p.output, row.seq, row.token, row.q_head);
    output[d] = Element::FromFloat(sum * InverseSum(state));
  }
};

struct WriteLse {
  float* lse;
  const float* row_max;
  const float* row_sum;

  PAGED_HD void operator()(int64_t row) const {
    lse[row] = Lse(SoftmaxState{row_max[row], row_sum[row]});
  }
};

template <typename T>
T* Allocate(BumpAllocator& allocator, std::size_t bytes) {
  return reinterpret_cast<T*>(
      allocator.allocate(static_cast<std::ptrdiff_t>(bytes)));
}

// Throws what Thrust throws, and std::bad_alloc for a small workspace.
template <typename Element, typename World>
void RunThrust(const DecodeParams& p, ElementKind kind, World& world,
               BumpAllocator& allocator) {
  using Type = typename Element::Type;
  const ThrustSizes sizes = ThrustSizesOf(kind, p);
  Type* keys = Allocate<Type>(allocator, sizes.key_bytes);
  Type* values = Allocate<Type>(allocator, sizes.value_bytes);
  float* scores = Allocate<float>(allocator, sizes.score_bytes);
  float* row_max = Allocate<float>(allocator, sizes.row_bytes);
  float* row_sum = Allocate<float>(allocator, sizes.row_bytes);

  const auto policy = world.Policy();
  const auto for_each_index = [&](int64_t count, auto function) {
    const auto first = thrust_ns::make_counting_iterator(int64_t{0});
    thrust_ns::for_each(policy, first, first + count, function);
  };
  const auto count_of = [](std::size_t bytes, std::size_t element_bytes) {
    return static_cast<int64_t>(bytes / element_bytes);
  };
  const int64_t num_scores = count_of(sizes.score_bytes, sizeof(float));
  const int64_t num_rows = count_of(sizes.row_bytes, sizeof(float));

  thrust_ns::tabulate(policy, keys,
                      keys + count_of(sizes.key_bytes, sizeof(Type)),
                      GatherElement<Element>{p, p.key, p.key_dim});
  thrust_ns::tabulate(policy, values,
                      values + count_of(sizes.value_bytes, sizeof(Type)),
                      GatherElement<Element>{p, p.value, p.value_dim});
  thrust_ns::tabulate(policy, scores, scores + num_scores,
                      ScoreAt<Element>{p, keys});
  world.SegmentedReduce(scores, row_max, num_rows, p.max_context_len,
                        MaxIgnoringNan{}, -INFINITY);
  for_each_index(num_scores, ScoreToWeight{scores, row_max, p.max_context_len});
  world.SegmentedReduce(scores, row_sum, num_rows, p.max_context_len, Plus{},
                        0.0f);
  for_each_index(num_rows * p.value_dim,
                 WriteOutput<Element>{p, values, scores, row_max, row_sum});
  if (p.lse != nullptr) {
    for_each_index(num_rows, WriteLse{p.lse, row_max, row_sum});
  }
}

// Runs `body`, and turns what it throws into a status.
template <typename Body>
ThrustStatus CatchThrust(const Body& body) {
  try {
    body();
    return ThrustStatus::kOk;
  } catch (const std::bad_alloc&) {
    return ThrustStatus::kWorkspaceTooSmall;
  } catch (...) {
    return ThrustStatus::kDeviceError;
  }
}

}  // namespace paged::internal

#endif  // PAGED_KERNELS_BASELINE_THRUST_DECODE_IMPL_H_
