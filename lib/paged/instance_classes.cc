#include "paged/internal/instance_classes.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "kernels/core/hash.h"
#include "paged/internal/feature_rules.h"
#include "paged/internal/lower.h"

namespace paged::internal {
namespace {

constexpr bool AreOfOneClass(const InstanceConfig& a, const InstanceConfig& b) {
  return a.element == b.element && a.kind == b.kind &&
         a.max_rows == b.max_rows && a.key_dim == b.key_dim &&
         a.value_dim == b.value_dim;
}

// Where in kInstances a class begins.
constexpr bool BeginsClass(std::size_t i) {
  return i == 0 || !AreOfOneClass(kInstances[i - 1], kInstances[i]);
}

constexpr std::size_t kNumClasses = [] {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kInstances.size(); ++i) count += BeginsClass(i);
  return count;
}();

// A few for each dtype: fewer to look at than the instances are.
constexpr auto kClasses = [] {
  std::array<InstanceClass, kNumClasses> classes{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < kInstances.size(); ++i) {
    if (BeginsClass(i)) classes[next++].first = i;
    ++classes[next - 1].count;
  }
  return classes;
}();

constexpr bool AreApart(const InstanceClass& a, const InstanceClass& b) {
  return a.first == b.first ||
         !AreOfOneClass(kInstances[a.first], kInstances[b.first]);
}
static_assert(std::all_of(kClasses.begin(), kClasses.end(),
                          [](const InstanceClass& a) {
                            return a.count <= kMaxClassMembers &&
                                   std::all_of(kClasses.begin(), kClasses.end(),
                                               [&](const InstanceClass& b) {
                                                 return AreApart(a, b);
                                               });
                          }),
              "instances of a class must lie side by side");

// Where in kInstances is what: each lies in the first free slot from its own,
// so that a run finds its instance in a few nanoseconds.
constexpr uint16_t kNoPlace = kInstances.size();
constexpr std::size_t kNumSlots = 512;
static_assert(2 * kInstances.size() <= kNumSlots);

constexpr std::size_t SlotOf(const InstanceConfig& config) {
  uint64_t key = 0;
  for (int part :
       {static_cast<int>(config.element), static_cast<int>(config.kind),
        config.max_rows, config.key_dim, config.value_dim, config.shape.warps,
        config.shape.stages}) {
    key = key << 9 ^ static_cast<uint64_t>(part);
  }
  return Mix(key) % kNumSlots;
}

constexpr auto kPlaces = [] {
  std::array<uint16_t, kNumSlots> places{};
  places.fill(kNoPlace);
  for (std::size_t i = 0; i < kInstances.size(); ++i) {
    std::size_t slot = SlotOf(kInstances[i]);
    while (places[slot] != kNoPlace) slot = (slot + 1) % kNumSlots;
    places[slot] = static_cast<uint16_t>(i);
  }
  return places;
}();

DType DTypeOf(ElementKind element) {
  switch (element) {
    case ElementKind::kF16:
      return DType::kF16;
    case ElementKind::kBF16:
      return DType::kBF16;
    case ElementKind::kE4M3:
      return DType::kFp8E4M3;
    case ElementKind::kE5M2:
      return DType::kFp8E5M2;
    case ElementKind::kInt8:
      return DType::kInt8;
    case ElementKind::kF32:
      break;
  }
  return DType::kF32;
}

// What a shape asks of an instance.
struct Needs {
  ElementKind element;
  int key_dim;
  int value_dim;
  bool is_plain;          // whole vectors, no rules for scores
  bool may_tensor_cores;  // its dtypes and scales are what they can take
};

Needs NeedsOf(const DecodeShape& s) {
  const bool has_token_scales = s.key_scales == ScaleGranularity::kToken ||
                                s.value_scales == ScaleGranularity::kToken;
  return {.element = KindOf(s.kv_dtype),
          .key_dim = s.head_dim,
          .value_dim = s.value_dim,
          .is_plain = !NeedsGeneral(s) && HasWholeVectors(s),
          .may_tensor_cores =
              SizeOf(s.kv_dtype) == 1
                  ? s.query_dtype != DType::kF32
                  : s.query_dtype == s.kv_dtype && !has_token_scales};
}

bool Serves(const InstanceConfig& config, const Needs& needs) {
  if (config.element != needs.element) return false;
  if (config.key_dim < needs.key_dim || config.value_dim < needs.value_dim) {
    return false;
  }
  if (!config.has_tensor_cores()) return true;
  if (!needs.may_tensor_cores) return false;
  return config.is_general() ||
         (config.key_dim == needs.key_dim &&
          config.value_dim == needs.value_dim && needs.is_plain);
}

bool Takes(const InstanceConfig& config,
           const std::optional<InstanceChoice>& forced) {
  if (!forced.has_value()) return true;
  return (!forced->is_general || config.is_general()) &&
         (forced->max_rows == 0 || config.max_rows == forced->max_rows) &&
         (!forced->on_cuda_cores || !config.has_tensor_cores());
}

bool SomeHasShape(const InstanceClass& of,
                  const std::optional<InstanceChoice>& forced) {
  const auto members = of.members();
  return std::any_of(
      members.begin(), members.end(),
      [&](const InstanceConfig& config) { return HasShape(config, forced); });
}

}  // namespace

bool HasShape(const InstanceConfig& config,
              const std::optional<InstanceChoice>& forced) {
  if (!forced.has_value()) return true;
  return (forced->warps == 0 || config.shape.warps == forced->warps) &&
         (forced->stages == 0 || config.shape.stages == forced->stages);
}

bool HasWholeVectors(const DecodeShape& s) {
  const int64_t all = s.key.block_stride | s.key.slot_stride |
                      s.key.head_stride | s.value.block_stride |
                      s.value.slot_stride | s.value.head_stride | s.head_dim |
                      s.value_dim;
  return all % (kVectorBytes / SizeOf(s.kv_dtype)) == 0;
}

InstanceClasses ClassesFor(const DecodeShape& shape,
                           const std::optional<InstanceChoice>& forced) {
  const Needs needs = NeedsOf(shape);
  const int64_t rows =
      int64_t{shape.q_len} * (shape.num_q_heads / shape.num_kv_heads);
  // Tensor cores before others; then few readings of a tile, and after that
  // little of what the shape has no use for.
  const auto cost = [&](const InstanceConfig& config) {
    const bool reads_more =
        rows > config.max_rows && config.max_rows < kMmaRows;
    return std::tuple(!config.has_tensor_cores(), reads_more, config.kind,
                      config.key_dim + config.value_dim, config.max_rows);
  };
  // Of wide instances, and of the others: those that have the shape that is
  // asked for, if there are any on tensor cores.
  const InstanceClass* best[2] = {};
  for (bool of_any_shape : {false, true}) {
    if (best[0] != nullptr || best[1] != nullptr) break;
    for (const InstanceClass& of : kClasses) {
      const InstanceConfig& config = of.front();
      if (!Serves(config, needs) || !Takes(config, forced)) continue;
      if (!of_any_shape &&
          !(config.has_tensor_cores() && SomeHasShape(of, forced))) {
        continue;
      }
      const InstanceClass*& other = best[config.max_rows == kWideRows];
      if (other == nullptr || cost(config) < cost(other->front())) other = &of;
    }
  }
  if (best[0] != nullptr && rows <= kMmaRows) best[1] = nullptr;
  InstanceClasses classes;
  std::size_t count = 0;
  for (const InstanceClass* of : best) {
    if (of != nullptr) classes[count++] = *of;
  }
  return classes;
}

Instance InstanceOf(const InstanceConfig& config) {
  return {.kv_dtype = DTypeOf(config.element),
          .head_dim = config.key_dim,
          .value_dim = config.value_dim,
          .warps = config.shape.warps,
          .stages = config.shape.stages,
          .max_rows = config.max_rows,
          .is_general = config.is_general(),
          .on_cuda_cores = !config.has_tensor_cores()};
}

const InstanceConfig* ConfigOf(const Instance& instance) {
  const InstanceConfig wanted = {
      .element = KindOf(instance.kv_dtype),
      .kind = instance.on_cuda_cores ? InstanceKind::kCudaCores
              : instance.is_general  ? InstanceKind::kGeneral
                                     : InstanceKind::kPlain,
      .max_rows = instance.max_rows,
      .key_dim = instance.head_dim,
      .value_dim = instance.value_dim,
      .shape = {.warps = instance.warps, .stages = instance.stages}};
  for (std::size_t slot = SlotOf(wanted); kPlaces[slot] != kNoPlace;
       slot = (slot + 1) % kPlaces.size()) {
    const InstanceConfig& config = kInstances[kPlaces[slot]];
    if (config == wanted && InstanceOf(config) == instance) return &config;
  }
  return nullptr;
}

}  // namespace paged::internal
