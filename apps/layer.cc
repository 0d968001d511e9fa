#include "apps/layer.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/flags.h"
#include "apps/layer_rules.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

constexpr char kPrefix[] = "layer";
constexpr std::size_t kPrefixLength = sizeof(kPrefix) - 1;

// "layer" and digits.
bool IsLayerName(const std::string& name) {
  return absl::StartsWith(name, kPrefix) &&
         std::all_of(name.begin() + kPrefixLength, name.end(),
                     [](char c) { return absl::ascii_isdigit(c); });
}

std::string PrintedName(const std::string& name) {
  return name.size() == kPrefixLength ? absl::StrCat(name, "0") : name;
}

// Numbers without leading zeros sort by length, then by digits.
bool ComesBefore(const std::string& a, const std::string& b) {
  const auto key = [](const std::string& name) {
    std::string digits = PrintedName(name).substr(kPrefixLength);
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    return std::tuple(digits.size(), digits, name);
  };
  return key(a) < key(b);
}

// The layers of which a file has at least one of the needed tensors.
std::vector<std::string> NamesOfLayers(const TensorFile& file) {
  std::set<std::string> names;
  for (const auto& [tensor, view] : file.tensors()) {
    const std::size_t dot = tensor.find('.');
    if (dot == std::string::npos) continue;
    const std::string field = tensor.substr(dot + 1);
    if (field != "query" && field != "key" && field != "value") continue;
    const std::string name = tensor.substr(0, dot);
    if (IsLayerName(name)) names.insert(name);
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end(), ComesBefore);
  return sorted;
}

absl::StatusOr<TensorView> Need(const TensorFile& file,
                                const std::string& name) {
  const TensorView* tensor = file.Find(name);
  if (tensor != nullptr) return *tensor;
  return absl::InvalidArgumentError(
      absl::StrCat("the file must have a tensor ", name));
}

absl::StatusOr<DType> DtypeOf(const std::string& name,
                              const TensorView& tensor) {
  if (tensor.dtype == "F16") return DType::kF16;
  if (tensor.dtype == "BF16") return DType::kBF16;
  if (tensor.dtype == "F32") return DType::kF32;
  return TensorError(name, "be F16, BF16 or F32", tensor.dtype);
}

absl::StatusOr<std::vector<int32_t>> ContextLens(const TensorFile& file) {
  PAGED_ASSIGN_OR_RETURN(const TensorView tensor, Need(file, "context_lens"));
  if (tensor.dtype != "I32" || tensor.shape.size() != 1) {
    return TensorError("context_lens", "be I32 [num_seqs]", Describe(tensor));
  }
  std::vector<int32_t> lens(static_cast<std::size_t>(tensor.num_elements));
  if (!lens.empty()) std::memcpy(lens.data(), tensor.data, tensor.num_bytes);
  for (int32_t len : lens) {
    if (len < 0) {
      return TensorError("context_lens", "hold lengths of at least 0",
                         absl::StrCat(len));
    }
  }
  return lens;
}

absl::StatusOr<std::optional<TensorView>> FindExpected(
    const TensorFile& file, const std::string& name,
    const std::vector<int64_t>& shape) {
  const TensorView* tensor = file.Find(name);
  if (tensor == nullptr) return std::optional<TensorView>();
  if (tensor->dtype != "F64" && tensor->dtype != "F32") {
    return TensorError(name, "be F64 or F32", tensor->dtype);
  }
  PAGED_RETURN_IF_ERROR(CheckShape(name, *tensor, shape));
  return std::optional<TensorView>(*tensor);
}

absl::StatusOr<Layer> LoadLayer(const TensorFile& file, const std::string& name,
                                const std::vector<int32_t>& context_lens) {
  Layer layer;
  layer.name = PrintedName(name);
  layer.context_lens = context_lens;
  layer.num_seqs = static_cast<int>(context_lens.size());
  for (int32_t len : context_lens) layer.total_tokens += len;
  PAGED_ASSIGN_OR_RETURN(layer.query, Need(file, name + ".query"));
  PAGED_ASSIGN_OR_RETURN(layer.key, Need(file, name + ".key"));
  PAGED_ASSIGN_OR_RETURN(layer.value, Need(file, name + ".value"));
  PAGED_ASSIGN_OR_RETURN(layer.dtype, DtypeOf(name + ".query", layer.query));
  for (const auto& [field, tensor] :
       {std::pair(".query", &layer.query), std::pair(".key", &layer.key),
        std::pair(".value", &layer.value)}) {
    PAGED_RETURN_IF_ERROR(CheckExtents(name + field, *tensor, 3));
    if (tensor->dtype != layer.query.dtype) {
      return TensorError(name + field,
                         absl::StrCat("have query's dtype ", layer.query.dtype),
                         tensor->dtype);
    }
  }
  layer.num_q_heads = static_cast<int>(layer.query.shape[1]);
  layer.head_dim = static_cast<int>(layer.query.shape[2]);
  layer.num_kv_heads = static_cast<int>(layer.key.shape[1]);
  layer.value_dim = static_cast<int>(layer.value.shape[2]);
  PAGED_RETURN_IF_ERROR(CheckDims(name, layer));

  const int64_t seqs = layer.num_seqs, q_heads = layer.num_q_heads;
  const int64_t kv_heads = layer.num_kv_heads, value_dim = layer.value_dim;
  PAGED_RETURN_IF_ERROR(CheckShape(name + ".query", layer.query,
                                   {seqs, q_heads, layer.head_dim}));
  PAGED_RETURN_IF_ERROR(
      CheckShape(name + ".key", layer.key,
                 {layer.total_tokens, kv_heads, layer.head_dim}));
  PAGED_RETURN_IF_ERROR(CheckShape(name + ".value", layer.value,
                                   {layer.total_tokens, kv_heads, value_dim}));
  PAGED_ASSIGN_OR_RETURN(
      layer.expected,
      FindExpected(file, name + ".expected", {seqs, q_heads, value_dim}));
  PAGED_ASSIGN_OR_RETURN(
      layer.expected_lse,
      FindExpected(file, name + ".expected_lse", {seqs, q_heads}));
  return layer;
}

}  // namespace

int64_t Layer::kv_bytes() const {
  return static_cast<int64_t>(key.num_bytes + value.num_bytes);
}

absl::StatusOr<std::vector<Layer>> FindLayers(
    const TensorFile& file, const std::optional<std::string>& name) {
  std::vector<std::string> names = NamesOfLayers(file);
  if (names.empty()) {
    return absl::InvalidArgumentError(
        "the file must have tensors layerN.query, layerN.key and "
        "layerN.value; it has none");
  }
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    if (PrintedName(names[i]) == PrintedName(names[i + 1])) {
      return absl::InvalidArgumentError(absl::StrCat(
          names[i], " and ", names[i + 1], " must not both be in a file"));
    }
  }
  if (name.has_value()) {
    const auto found = std::find_if(
        names.begin(), names.end(), [&](const std::string& candidate) {
          return *name == candidate || *name == PrintedName(candidate);
        });
    if (found == names.end()) {
      return absl::NotFoundError(absl::StrCat("--layer must be one of ",
                                              absl::StrJoin(names, ", "),
                                              "; got ", Printable(*name)));
    }
    names = {*found};
  }
  PAGED_ASSIGN_OR_RETURN(const std::vector<int32_t> lens, ContextLens(file));
  std::vector<Layer> layers;
  for (const std::string& layer_name : names) {
    PAGED_ASSIGN_OR_RETURN(Layer layer, LoadLayer(file, layer_name, lens));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace paged
