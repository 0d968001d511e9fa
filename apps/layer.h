// One layer's attention tensors in a file: what a decode step reads, and what
// it should answer.
//
//   context_lens          I32 [num_seqs]
//   layerN.query          [num_seqs, num_q_heads, head_dim]
//   layerN.key            [total_tokens, num_kv_heads, head_dim]
//   layerN.value          [total_tokens, num_kv_heads, head_dim]
//   layerN.expected       [num_seqs, num_q_heads, head_dim], optional
//   layerN.expected_lse   [num_seqs, num_q_heads], optional
//
// Sequences follow one another in key and value. N is a number, or absent.
#ifndef PAGED_APPS_LAYER_H_
#define PAGED_APPS_LAYER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/safetensors.h"
#include "paged/dtype.h"

namespace paged {

struct Layer {
  std::string name;  // "layer11"; a plain "layer" is "layer0"
  DType dtype = DType::kF16;
  int num_seqs = 0;
  int num_q_heads = 0;
  int num_kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;
  int64_t total_tokens = 0;
  std::vector<int32_t> context_lens;

  TensorView query;
  TensorView key;
  TensorView value;
  std::optional<TensorView> expected;
  std::optional<TensorView> expected_lse;

  // Useful bytes of keys and values, once per kv head.
  int64_t kv_bytes() const;
  int group() const { return num_q_heads / num_kv_heads; }
};

// The layers of a file in numeric order, or the one of that name. The views
// are valid as long as the file is. NotFound when there is none;
// InvalidArgument names the tensor, the rule and what it has instead.
absl::StatusOr<std::vector<Layer>> FindLayers(
    const TensorFile& file, const std::optional<std::string>& name);

// Elements of a floating point tensor (F16, BF16, F32, F64), exactly.
std::vector<double> ToDoubles(const TensorView& tensor);
// One 16- or 32-bit storage type, as the backends write it.
std::vector<double> ToDoubles(DType dtype, const void* data,
                              int64_t num_elements);

}  // namespace paged

#endif  // PAGED_APPS_LAYER_H_
