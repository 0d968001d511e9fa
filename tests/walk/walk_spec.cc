#include "tests/walk/walk_spec.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/core/hash.h"

namespace paged::testing {
namespace {

// Query rows times tokens times dimensions of a problem, at most: what the
// oracle takes a millisecond for.
constexpr int64_t kMaxWork = 400'000;

// Draws that depend on the seed alone, on no library's distributions.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(Mix(seed)) {}

  // In [low, high].
  int In(int low, int high) {
    state_ = Mix(state_);
    const auto span = static_cast<uint64_t>(int64_t{high} - low + 1);
    return low + static_cast<int>(state_ % span);
  }
  bool OneIn(int n) { return In(1, n) == 1; }
  template <typename T>
  T Pick(std::initializer_list<T> list) {
    return list.begin()[In(0, static_cast<int>(list.size()) - 1)];
  }

 private:
  uint64_t state_;
};

void DrawTypes(Dice& dice, ProblemSpec& spec) {
  const DType query = dice.Pick({DType::kF16, DType::kBF16, DType::kF32});
  spec.query_dtype = query;
  spec.dtype = query;
  if (dice.OneIn(3)) {
    spec.dtype = dice.Pick({DType::kF16, DType::kBF16, DType::kF32,
                            DType::kFp8E4M3, DType::kFp8E5M2, DType::kInt8});
  }
  const bool has_codes = SizeOf(spec.dtype) == 1;
  if (spec.dtype == DType::kInt8) spec.key_scale = spec.value_scale = 0.01f;
  if (!has_codes && !dice.OneIn(8)) return;
  const auto granularity = [&] {
    return dice.Pick({ScaleGranularity::kNone, ScaleGranularity::kTensor,
                      ScaleGranularity::kHead, ScaleGranularity::kToken});
  };
  spec.key_scales = granularity();
  spec.value_scales = granularity();
  if (dice.OneIn(2)) spec.key_scale *= 0.37f;
  if (dice.OneIn(2)) spec.value_scale *= 2.9f;
}

int DrawDim(Dice& dice, bool on_cuda) {
  switch (dice.In(0, 9)) {
    case 0:
      return dice.Pick({64, 80, 96, 112, 128, 192, 256});
    case 1:
      return on_cuda ? 8 * dice.In(1, 32) : dice.In(1, 70);
    case 2:
      return dice.Pick({512, 576, 160});
    default:
      return 8 * dice.In(1, 16);
  }
}

void DrawHeads(Dice& dice, bool on_cuda, ProblemSpec& spec) {
  spec.num_kv_heads = dice.Pick({1, 1, 2, 3, 5});
  const int group =
      dice.OneIn(12) ? dice.In(17, 128) : dice.Pick({1, 2, 3, 4, 5, 7, 8, 16});
  spec.num_q_heads = spec.num_kv_heads * group;
  spec.head_dim = DrawDim(dice, on_cuda);
  if (dice.OneIn(5)) spec.value_dim = DrawDim(dice, on_cuda);
  spec.block_size = dice.OneIn(8) ? dice.In(1, 1024)
                                  : dice.Pick({16, 16, 1, 2, 5, 8, 12, 32, 64});
}

void DrawTokens(Dice& dice, ProblemSpec& spec) {
  const int group = spec.num_q_heads / spec.num_kv_heads;
  if (dice.OneIn(3)) {
    spec.q_len = dice.In(2, std::max(2, 64 / group));
    spec.q_len = std::min(spec.q_len, 16);
    spec.has_tree_masks = dice.OneIn(3);
  }
  const int num_seqs = dice.OneIn(40) ? 0 : dice.Pick({1, 1, 2, 3, 4, 6});
  const bool is_ragged = dice.OneIn(3);
  const int64_t per_token = int64_t{spec.num_q_heads} * spec.q_len *
                            (spec.head_dim + std::max(spec.value_dim, 1));
  const int most = static_cast<int>(std::clamp<int64_t>(
      kMaxWork / (per_token * std::max(num_seqs, 1)), 3, 700));
  for (int seq = 0; seq < num_seqs; ++seq) {
    spec.context_lens.push_back(dice.OneIn(8) ? 0 : dice.In(1, most));
    if (is_ragged) spec.q_lens.push_back(dice.In(0, spec.q_len));
  }
  // A query without a single token is a null pointer, which is refused.
  if (!spec.q_lens.empty()) {
    spec.q_lens.back() = std::max(spec.q_lens.back(), 1);
  }
  if (dice.OneIn(2)) spec.max_context_len = most + dice.In(0, 300);
}

void DrawRules(Dice& dice, ProblemSpec& spec) {
  if (dice.OneIn(2)) return;
  spec.soft_cap = dice.OneIn(4) ? dice.Pick({0.5f, 5.0f, 30.0f}) : 0.0f;
  spec.has_bias = dice.OneIn(4);
  spec.has_sink_logits = dice.OneIn(4);
  if (spec.has_tree_masks) return;
  spec.window = dice.OneIn(2) ? dice.Pick({1, 15, 16, 17, 64, 100, 1000}) : 0;
  spec.attention_chunk = dice.OneIn(4) ? dice.In(1, 100) : 0;
  spec.sink_tokens = dice.OneIn(3) ? dice.In(1, 40) : 0;
  spec.has_alibi = dice.OneIn(4);
}

void DrawMemory(Dice& dice, ProblemSpec& spec) {
  spec.layout =
      dice.Pick({Layout::kDense, Layout::kHeadMajor, Layout::kInterleaved,
                 Layout::kPaddedRows, Layout::kManyLayers});
  // Gaps of 8 codes are no multiple of 16 bytes, which CUDA wants.
  if (SizeOf(spec.dtype) == 1 && spec.layout == Layout::kPaddedRows) {
    spec.layout = Layout::kDense;
  }
  spec.row_padding = dice.Pick({0, 0, 8});
  spec.poison = dice.Pick({Poison::kNaN, Poison::kInf, Poison::kMinusInf,
                           Poison::kBytesFF, Poison::kBytes7F, Poison::kRandom,
                           Poison::kWords});
  spec.poison_target = dice.Pick(
      {PoisonTarget::kBoth, PoisonTarget::kKeys, PoisonTarget::kValues});
  spec.tail_entry = dice.Pick({2147480000, -1, INT32_MIN, INT32_MAX});
  spec.values = dice.OneIn(8) ? Values::kHeavyTailed : Values::kUniform;
  spec.seed = static_cast<uint32_t>(dice.In(0, 1 << 30));
  spec.table_seed = static_cast<uint32_t>(dice.In(0, 1 << 30));
}

// The CPU has a second pass alone.
DecodeOptions DrawSplits(Dice& dice, bool on_cuda) {
  DecodeOptions options =
      ForceSplits(dice.Pick({1, 2, 3, 4, 7, 16, 31, 64, 128}));
  if (!on_cuda) return options;
  options.reduction = dice.Pick(
      {Reduction::kSecondPass, Reduction::kLastCta, Reduction::kCluster});
  if (options.reduction == Reduction::kCluster) {
    options.splits = dice.In(1, kMaxSplitsOfCluster);
  }
  return options;
}

DecodeOptions DrawOptions(Dice& dice, bool on_cuda) {
  switch (dice.In(0, on_cuda ? 6 : 7)) {
    case 0:
      return {};
    case 1:
    case 2:
      return ForceV1();
    case 3: {
      DecodeOptions options = ForceV1();
      options.head_packing = HeadPacking::kOff;
      return options;
    }
    case 4:
    case 5:
      return DrawSplits(dice, on_cuda);
    case 6:
      return ForceChunks();
    default:
      return ForceVariant(Variant::kReference);
  }
}

}  // namespace

WalkCase WalkCaseOf(uint64_t seed, bool on_cuda) {
  Dice dice(seed);
  WalkCase walk;
  walk.kind = on_cuda
                  ? BackendKind::kCuda
                  : dice.Pick({BackendKind::kCpu, BackendKind::kCpu,
                               BackendKind::kCpuScalar, BackendKind::kCpuSse4,
                               BackendKind::kCpuAvx2});
  DrawTypes(dice, walk.spec);
  DrawHeads(dice, on_cuda, walk.spec);
  DrawTokens(dice, walk.spec);
  DrawRules(dice, walk.spec);
  DrawMemory(dice, walk.spec);
  walk.scale = dice.OneIn(4) ? dice.Pick({0.05f, 0.5f, 1.0f}) : 0.0f;
  walk.options = DrawOptions(dice, on_cuda);
  const bool is_free =
      !walk.options.variant.has_value() && !walk.options.partition.has_value();
  if (!on_cuda && is_free && dice.OneIn(2)) {
    walk.options.batch_invariance = BatchInvariance::kOn;
  } else if (is_free && dice.OneIn(2)) {
    walk.options.partition = dice.Pick({Partition::kWhole, Partition::kSplits});
  }
  return walk;
}

std::string ToString(const WalkCase& walk) {
  const ProblemSpec& s = walk.spec;
  return absl::StrCat(
      "backend ", static_cast<int>(walk.kind), ", ",
      NameOf(s.query_dtype.value_or(s.dtype)), " over ", NameOf(s.dtype),
      ", heads ", s.num_q_heads, "/", s.num_kv_heads, ", dims ", s.head_dim,
      "/", s.value_dim, ", blocks of ", s.block_size, ", contexts [",
      absl::StrJoin(s.context_lens, " "), "] of ", s.max_context_len,
      ", q_len ", s.q_len, " [", absl::StrJoin(s.q_lens, " "), "]",
      s.has_tree_masks ? " trees" : "", ", window ", s.window, ", chunk ",
      s.attention_chunk, ", sink tokens ", s.sink_tokens, ", cap ", s.soft_cap,
      s.has_alibi ? ", alibi" : "", s.has_bias ? ", bias" : "",
      s.has_sink_logits ? ", sinks" : "", ", scales ", s.key_scale, "*",
      static_cast<int>(s.key_scales), " ", s.value_scale, "*",
      static_cast<int>(s.value_scales), ", layout ", static_cast<int>(s.layout),
      ", padding ", s.row_padding, ", poison ", static_cast<int>(s.poison),
      ", scale ", walk.scale, ", variant ",
      NameOf(walk.options.variant.value_or(Variant::kAuto)), " splits ",
      walk.options.splits.value_or(0), " partition ",
      NameOf(walk.options.partition.value_or(Partition::kAuto)), " reduction ",
      NameOf(walk.options.reduction.value_or(Reduction::kAuto)),
      walk.options.batch_invariance == BatchInvariance::kOn ? " invariant"
                                                            : "");
}

}  // namespace paged::testing
