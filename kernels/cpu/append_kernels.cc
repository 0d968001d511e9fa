#include "kernels/cpu/append_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/quantise.h"
#include "kernels/cpu/elements.h"

namespace paged {
namespace {

void MoveRow(const AppendParams& p, const AppendTensor& tensor, int token,
             const AppendPlace& place, int kv_head) {
  const int64_t bytes = BytesOf(p.pool_element);
  const int64_t from = RowOffset(tensor, token, kv_head);
  const int64_t to = OffsetOf(tensor.layout, place.block, place.slot, kv_head);
  std::memcpy(static_cast<std::byte*>(tensor.pool) + to * bytes,
              static_cast<const std::byte*>(tensor.rows) + from * bytes,
              static_cast<std::size_t>(tensor.head_dim * bytes));
}

template <typename Source, typename Code>
void ConvertRow(const AppendTensor& tensor, int token, const AppendPlace& place,
                int kv_head) {
  const auto* from = static_cast<const Source*>(tensor.rows) +
                     RowOffset(tensor, token, kv_head);
  auto* to = static_cast<Code*>(tensor.pool) +
             OffsetOf(tensor.layout, place.block, place.slot, kv_head);
  float scale;
  if (tensor.row_scales == nullptr) {
    scale = HeadScale(tensor.scales, kv_head);
  } else {
    float amax = 0.0f;
    for (int d = 0; d < tensor.head_dim; ++d) {
      amax = std::max(amax, FiniteMagnitude(ToFloat(from[d])));
    }
    const float row_scale =
        RowScale(amax, kLargestCode<Code>, tensor.scales.factor);
    tensor.row_scales[RowScaleOffset(tensor, place, kv_head)] = row_scale;
    scale = tensor.scales.factor * row_scale;
  }
  for (int d = 0; d < tensor.head_dim; ++d) {
    to[d] = Quantised<Code>(ToFloat(from[d]), scale);
  }
}

// Calls `append` with each row of each tensor that has a place.
template <typename Append>
void ForEachRow(const AppendParams& p, const Append& append) {
  for (int token = 0; token < p.num_tokens; ++token) {
    const AppendPlace place = PlaceOfToken(p, token);
    if (!place.is_named) continue;
    for (int kv_head = 0; kv_head < p.num_kv_heads; ++kv_head) {
      append(p.key, token, place, kv_head);
      append(p.value, token, place, kv_head);
    }
  }
}

}  // namespace

void RunAppendKv(const AppendParams& params) {
  if (!params.converts) {
    const AppendParams p = WithMergedHeads(params);
    ForEachRow(
        p, [&p](const AppendTensor& tensor, int token, const AppendPlace& place,
                int kv_head) { MoveRow(p, tensor, token, place, kv_head); });
    return;
  }
  WithQueryElement(params.row_element, [&params]<typename Source>(Source) {
    WithElement(params.pool_element, [&params]<typename Code>(Code) {
      ForEachRow(params, [](const AppendTensor& tensor, int token,
                            const AppendPlace& place, int kv_head) {
        ConvertRow<Source, Code>(tensor, token, place, kv_head);
      });
    });
  });
}

}  // namespace paged
